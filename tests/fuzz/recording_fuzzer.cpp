// Files of a recording: any bytes are read or refused. The first byte divides the input into the calls and
// the tail.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.hpp"
#include "recording/codec.hpp"
#include "recording/stream.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace lapwing;
    if (size == 0) return 0;
    const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
    const std::size_t calls = bytes.size() * data[0] / 255;
    // The hashes of blocks would stop nearly all inputs, so blocks are also read without them.
    for (const bool whole : {true, false}) {
        recording::Thread thread;
        try {
            if (whole)
                recording::read_thread(bytes.substr(0, calls), bytes.substr(calls), thread);
            else
                recording::decode(bytes, thread);
        } catch (const Error&) {
            continue;
        }
        thread.count();
    }
    return 0;
}
