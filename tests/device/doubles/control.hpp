// Counts of calls, and errors on demand.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "device/doubles/double.h"

namespace doubles {

struct Failure {
    int code = 0;
    int times = 0;
};

// One lock for all of a double, whose functions may call each other.
struct Control {
    std::recursive_mutex mutex;
    std::map<std::string, unsigned long long> calls;
    std::map<std::string, Failure> failures;
    unsigned long long to_host = 0;
    unsigned long long to_device = 0;
    bool demands_context = false;

    // Counts a call; the error that it shall fail with, or 0.
    int call(const char* function) {
        ++calls[function];
        Failure& failure = failures[function];
        if (failure.times == 0) return 0;
        --failure.times;
        return failure.code;
    }
};
inline Control control;

}  // namespace doubles

extern "C" {
unsigned long long lapwing_double_calls(const char* function) {
    const std::lock_guard lock(doubles::control.mutex);
    return doubles::control.calls[function];
}
unsigned long long lapwing_double_bytes_to_host(void) {
    const std::lock_guard lock(doubles::control.mutex);
    return doubles::control.to_host;
}
unsigned long long lapwing_double_bytes_to_device(void) {
    const std::lock_guard lock(doubles::control.mutex);
    return doubles::control.to_device;
}
void lapwing_double_fail(const char* function, int code, int times) {
    const std::lock_guard lock(doubles::control.mutex);
    doubles::control.failures[function] = {code, times};
}
void lapwing_double_demand_context(int demanded) {
    const std::lock_guard lock(doubles::control.mutex);
    doubles::control.demands_context = demanded != 0;
}
}
