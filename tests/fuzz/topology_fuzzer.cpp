// Any bytes as a topology file: they are refused with a message, or every host has the place that it is named
// in.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/error.hpp"
#include "topology/host_order.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace lapwing;
    try {
        const auto order = topology::HostOrder::parse({reinterpret_cast<const char*>(data), size}, "fuzz");
        int place = 0;
        for (const std::string& host : order.hosts())
            if (order.find(host) != place++) std::abort();
    } catch (const Error& error) {
        if (error.code() != ErrorCode::parse || std::string_view(error.what()).empty()) std::abort();
    }
    return 0;
}
