#include "c/log.hpp"

#include <lapwing.h>

#include <mutex>

namespace lapwing::c {
namespace {

std::mutex log_mutex;
lapwing_log* log_function = nullptr;
void* log_context = nullptr;

}  // namespace

void log_line(const std::string& line) {
    const std::lock_guard lock(log_mutex);
    if (log_function != nullptr) log_function(log_context, line.c_str());
}

}  // namespace lapwing::c

void lapwing_set_log(lapwing_log* log, void* context) {
    const std::lock_guard lock(lapwing::c::log_mutex);
    lapwing::c::log_function = log;
    lapwing::c::log_context = context;
}
