// What leaves the library beside results: statuses with messages of the thread, and lines of the log.
#pragma once

#include <lapwing.h>

#include <exception>
#include <string>
#include <type_traits>

#include "base/error.hpp"

namespace lapwing::c {

// The exchange function failed, or what it gave back cannot be.
class ExchangeError : public Error {
  public:
    explicit ExchangeError(const std::string& message) : Error(ErrorCode::system, message) {}
};

// Leaves the message for the calling thread.
lapwing_status failed(lapwing_status status, const char* message) noexcept;
// The same for the exception that is being handled.
lapwing_status failed_by_exception() noexcept;
lapwing_status status_of(const std::exception& exception) noexcept;

// Returns the status that `work` returns, if any.
template <typename Work>
lapwing_status guarded(const Work& work) noexcept {
    try {
        if constexpr (std::is_same_v<decltype(work()), lapwing_status>) {
            return work();
        } else {
            work();
            return LAPWING_SUCCESS;
        }
    } catch (...) {
        return failed_by_exception();
    }
}

// A line for the function of lapwing_set_log(). By any thread.
void log_line(const std::string& line);

}  // namespace lapwing::c
