// Any bytes as a noise trace: they are refused with a place, or are interruptions that follow each other
// within the period.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/error.hpp"
#include "simulate/noise.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace lapwing;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    try {
        const auto trace = simulate::NoiseTrace::parse(text, "trace");
        simulate::Time free = 0;
        for (const auto& one : trace.interruptions) {
            if (one.start < free || one.length < 0) std::abort();
            free = one.start + one.length;
        }
        if (trace.interruptions.empty() || trace.period < free) std::abort();
    } catch (const Error& error) {
        if (error.code() != ErrorCode::parse || !std::string_view(error.what()).starts_with("trace"))
            std::abort();
    }
    return 0;
}
