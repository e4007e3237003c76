// Any messages of a proven rank over a stream socket, while this rank starts sends and receives: they are
// refused as a fault of the link, or complete receives of their length. The bytes are operations of both
// ranks, and raw bytes.
#include <sys/socket.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "links/socket_pairs.hpp"
#include "links/streams/stream_link.hpp"

namespace {

using namespace lapwing;

// As StreamFabric::Header.
struct Header {
    std::uint32_t kind;
    std::uint32_t channel;
    std::uint64_t group;
    std::uint64_t bytes;
};

constexpr std::uint64_t lengths[] = {0, 1, 10, 16384, 16385, 40000, UINT32_MAX, UINT64_MAX};
constexpr std::size_t message_lengths = 6;  // the rest only a wrong header has

struct Transfer {
    std::vector<std::byte> bytes;
    Link::Transfer transfer;
};

class Input {
  public:
    explicit Input(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
    bool empty() const { return bytes_.empty(); }
    std::uint8_t byte() { return empty() ? std::uint8_t{0} : take(1)[0]; }
    std::span<const std::uint8_t> take(std::size_t count) {
        const auto taken = bytes_.first(std::min(count, bytes_.size()));
        bytes_ = bytes_.subspan(taken.size());
        return taken;
    }

  private:
    std::span<const std::uint8_t> bytes_;
};

// Returns false if the link has failed, as it may.
template <typename Work>
bool works(Work work) {
    try {
        work();
        return true;
    } catch (const Error& error) {
        if ((error.code() != ErrorCode::link && error.code() != ErrorCode::truncated) ||
            std::string_view(error.what()).empty())
            std::abort();
        return false;
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Input input({data, size});
    const auto sockets = socket_pairs(2, 1);
    const int peer = sockets[1]->descriptor(0, 0);
    // The link ends before the transfers, which it may still write to.
    std::deque<Transfer> transfers;
    StreamLink link(*sockets[0], 2);
    const auto write = [&](const void* from, std::size_t bytes) {
        static_cast<void>(::send(peer, from, bytes, MSG_DONTWAIT | MSG_NOSIGNAL));
    };
    const std::vector<std::byte> payload(lengths[message_lengths - 1], std::byte{0x5a});
    bool sound = true;
    while (sound && !input.empty()) {
        const std::uint8_t what = input.byte();
        const std::uint32_t channel = what >> 3 & 3U;
        const std::uint64_t bytes = lengths[what >> 5];
        switch (what & 7U) {
            case 0:
            case 1: {  // this rank's
                Transfer& started = transfers.emplace_back();
                started.bytes.resize(std::min(bytes, lengths[message_lengths - 1]));
                sound = works([&] {
                    if (what & 1U)
                        link.send(1, started.bytes.data(), started.bytes.size(), channel, started.transfer);
                    else
                        link.recv(1, started.bytes.data(), started.bytes.size(), channel, started.transfer);
                });
                break;
            }
            case 2:
                sound = works([&] { link.flush(); });
                break;
            case 3: {  // raw bytes
                const auto raw = input.take(bytes & 63U);
                write(raw.data(), raw.size());
                break;
            }
            case 4: {  // the peer reads
                std::byte sink[4096];
                while (::recv(peer, sink, sizeof sink, MSG_DONTWAIT) > 0) continue;
                break;
            }
            default: {  // the peer's message, or what looks like one
                const std::uint8_t kind = input.byte();
                const Header header{kind & 7U, channel, static_cast<std::uint64_t>(kind >> 7), bytes};
                write(&header, sizeof header);
                if (kind & 8U) write(payload.data(), std::min<std::uint64_t>(bytes, payload.size()));
            }
        }
        sound = works([&] { link.progress(); }) && sound;
        for (Transfer& started : transfers) {
            if (!sound) break;
            sound = works([&] { link.test(started.transfer); });
        }
    }
    return 0;
}
