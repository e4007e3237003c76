#include "c/status.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>

namespace lapwing::c {
namespace {

// Plain memory: nothing is to be freed when a thread ends.
thread_local char message_of_thread[1024] = "";

std::mutex log_mutex;
lapwing_log* log_function = nullptr;
void* log_context = nullptr;

}  // namespace

lapwing_status failed(lapwing_status status, const char* message) noexcept {
    const std::size_t length = std::min(std::strlen(message), sizeof message_of_thread - 1);
    std::memmove(message_of_thread, message, length);
    message_of_thread[length] = '\0';
    return status;
}

lapwing_status status_of(const std::exception& exception) noexcept {
    if (dynamic_cast<const std::bad_alloc*>(&exception) != nullptr) return LAPWING_NO_MEMORY;
    if (dynamic_cast<const ExchangeError*>(&exception) != nullptr) return LAPWING_EXCHANGE;
    const auto* error = dynamic_cast<const Error*>(&exception);
    if (error == nullptr) return LAPWING_INTERNAL;
    switch (error->code()) {
        case ErrorCode::invalid_argument:
        case ErrorCode::parse:
            return LAPWING_INVALID_ARGUMENT;
        case ErrorCode::unsupported:
            return LAPWING_UNSUPPORTED;
        case ErrorCode::link:
        case ErrorCode::truncated:
            return LAPWING_LINK;
        case ErrorCode::system:
            return LAPWING_SYSTEM;
        case ErrorCode::internal:
            break;
    }
    return LAPWING_INTERNAL;
}

lapwing_status failed_by_exception() noexcept {
    try {
        throw;
    } catch (const std::bad_alloc&) {
        return failed(LAPWING_NO_MEMORY, "out of memory");
    } catch (const std::exception& exception) {
        return failed(status_of(exception), exception.what());
    } catch (...) {
        return failed(LAPWING_INTERNAL, "an exception of an unknown type");
    }
}

void log_line(const std::string& line) {
    const std::lock_guard lock(log_mutex);
    if (log_function != nullptr) log_function(log_context, line.c_str());
}

}  // namespace lapwing::c

const char* lapwing_version(void) {
    return LAPWING_VERSION;
}

const char* lapwing_message(void) {
    return lapwing::c::message_of_thread;
}

const char* lapwing_status_name(lapwing_status status) {
    constexpr const char* names[] = {"LAPWING_SUCCESS",  "LAPWING_INVALID_ARGUMENT", "LAPWING_UNSUPPORTED",
                                     "LAPWING_LINK",     "LAPWING_SYSTEM",           "LAPWING_NO_MEMORY",
                                     "LAPWING_EXCHANGE", "LAPWING_INTERNAL"};
    const auto index = static_cast<std::size_t>(status);
    return index < std::size(names) ? names[index] : "unknown";
}

void lapwing_set_log(lapwing_log* log, void* context) {
    const std::lock_guard lock(lapwing::c::log_mutex);
    lapwing::c::log_function = log;
    lapwing::c::log_context = context;
}
