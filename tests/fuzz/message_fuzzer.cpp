// Any bytes as what ranks and `lapwing status` send each other beside snapshots, and as the business card of
// a rank's endpoint: they are refused with a message, or mean what their encoded form means.
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "links/ofi/business_card.hpp"
#include "watch/messages.hpp"

namespace {

using namespace lapwing;

// Decodes, or is refused as a fault of the link; what is decoded passes `check`.
template <typename Decode, typename Check>
void decode_or_refuse(Decode decode, Check check) {
    try {
        if (!check(decode())) std::abort();
    } catch (const Error& error) {
        if (error.code() != ErrorCode::link || std::string_view(error.what()).empty()) std::abort();
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto bytes = std::as_bytes(std::span(data, size));
    decode_or_refuse([&] { return watch::decode_description(bytes); },
                     [](const watch::JobDescription& found) {
                         const auto again = watch::decode_description(watch::encode(found));
                         return again.job == found.job && again.ranks == found.ranks &&
                                again.hosts == found.hosts;
                     });
    if (const auto found = ofi::card_of({bytes.begin(), bytes.end()})) {
        const auto again = ofi::card_of(ofi::bytes_of(*found));
        if (again->provider != found->provider || again->device != found->device ||
            again->address != found->address || again->tag_bits != found->tag_bits)
            std::abort();
    }
    return 0;
}
