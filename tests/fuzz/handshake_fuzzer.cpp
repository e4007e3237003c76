// Any bytes to either side of a handshake: they are never taken for a member's, never answered before a sound
// hello, and never more of them are asked for than belong to the handshake. Then two members with one changed
// message between them: they do not agree.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <utility>
#include <vector>

#include "links/tcp/handshake.hpp"

namespace {

using namespace lapwing::tcp;
using Bytes = std::vector<unsigned char>;

void must(bool truth) {
    if (!truth) std::abort();
}

Bytes said(Handshake& handshake) {
    Bytes bytes(handshake.output().begin(), handshake.output().end());
    handshake.sent(bytes.size());
    return bytes;
}

// In pieces of a size that the input chooses.
void feed(Handshake& handshake, std::span<const std::uint8_t> bytes, std::size_t piece) {
    while (!bytes.empty() && handshake.wanted() > 0) {
        must(handshake.wanted() <= Handshake::hello_bytes);
        const auto now = bytes.first(std::min({bytes.size(), piece, handshake.wanted()}));
        handshake.take(now);
        bytes = bytes.subspan(now.size());
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) return 0;
    Key key;
    Key unknown;  // no message by this key is ever made for the fuzzer to learn from
    Nonce nonce;
    Nonce other;
    key.fill(0x5a);
    unknown.fill(0xa5);
    nonce.fill(1);
    other.fill(2);
    const Claim claim{5, 3, 1, 0};
    const std::size_t piece = 1u + data[0];
    const std::span<const std::uint8_t> bytes(data + 2, size - 2);

    Handshake accepting = Handshake::accepting(unknown, 1, 4, nonce);
    feed(accepting, bytes, piece);
    must(!accepting.done() && !accepting.greeted() && accepting.output().empty());
    Handshake connecting = Handshake::connecting(unknown, claim, nonce);
    said(connecting);
    feed(connecting, bytes, piece);
    must(!connecting.done() && connecting.output().empty());

    Handshake from = Handshake::connecting(key, claim, nonce);
    Handshake to = Handshake::accepting(key, 1, 4, other);
    Handshake* speaks = &from;
    Handshake* hears = &to;
    bool changed = false;
    for (int number = 0; number < 4; ++number) {
        Bytes message = said(*speaks);
        if (number == data[1] % 4) {
            Bytes wrong = message;
            std::transform(wrong.begin(), wrong.begin() + std::min(wrong.size(), bytes.size()), bytes.begin(),
                           wrong.begin(), [](unsigned char one, unsigned char two) {
                               return static_cast<unsigned char>(one ^ two);
                           });
            changed = wrong != message;
            message = std::move(wrong);
        }
        feed(*hears, message, piece);
        if (changed) {
            must(hears->failure() != nullptr && !hears->done() && hears->output().empty());
            return 0;
        }
        std::swap(speaks, hears);
    }
    must(from.done() && to.done() && to.claim() == claim);
    return 0;
}
