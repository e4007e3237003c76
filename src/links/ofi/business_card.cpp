#include "links/ofi/business_card.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <rdma/fabric.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "links/tcp/addresses.hpp"

namespace lapwing::ofi {
namespace {

// The form of a card. Its address follows.
struct Head {
    static constexpr std::uint32_t current = 0x4c4f4633;  // "LOF3"
    std::uint32_t mark = current;
    std::uint32_t format = 0;
    std::uint32_t tag_bits = 0;
    std::uint32_t reserved = 0;
    std::uint64_t memory = 0;
    std::uint64_t memory_key = 0;
    std::uint64_t host = 0;
    char provider[64] = "";
    char device[64] = "";
};
static_assert(sizeof(Head) == 168, "without padding");

std::optional<tcp::IpAddress> internet_address(const BusinessCard& card) {
    const std::size_t size = card.format == FI_SOCKADDR_IN    ? sizeof(sockaddr_in)
                             : card.format == FI_SOCKADDR_IN6 ? sizeof(sockaddr_in6)
                                                              : 0;
    if (size == 0 || card.address.size() < size) return {};
    sockaddr_storage address{};
    std::memcpy(&address, card.address.data(), size);
    address.ss_family = card.format == FI_SOCKADDR_IN ? AF_INET : AF_INET6;
    return tcp::ip_of(reinterpret_cast<const sockaddr&>(address));
}

}  // namespace

std::vector<std::byte> bytes_of(const BusinessCard& card) {
    Head head;
    head.format = card.format;
    head.tag_bits = card.tag_bits;
    head.memory = card.memory;
    head.memory_key = card.memory_key;
    head.host = card.host;
    card.provider.copy(head.provider, sizeof head.provider - 1);
    card.device.copy(head.device, sizeof head.device - 1);
    std::vector<std::byte> bytes(sizeof head + card.address.size());
    std::memcpy(bytes.data(), &head, sizeof head);
    std::ranges::copy(card.address, bytes.begin() + sizeof head);
    return bytes;
}

std::optional<BusinessCard> card_of(const std::vector<std::byte>& bytes) {
    Head head;
    if (bytes.size() < sizeof head) return {};
    std::memcpy(&head, bytes.data(), sizeof head);
    if (head.mark != Head::current) return {};
    // The names come from another process.
    head.provider[sizeof head.provider - 1] = head.device[sizeof head.device - 1] = '\0';
    return BusinessCard{head.provider,
                        head.device,
                        head.format,
                        head.tag_bits,
                        {bytes.begin() + sizeof head, bytes.end()},
                        head.memory,
                        head.memory_key,
                        head.host};
}

std::string why_apart(const std::vector<BusinessCard>& cards, const std::vector<std::string>& names) {
    const BusinessCard& first = cards.front();
    bool several_hosts = false;
    for (const BusinessCard& card : cards) several_hosts = several_hosts || card.host != first.host;
    std::map<std::string, std::size_t> owners;  // of addresses
    for (std::size_t rank = 0; rank < cards.size(); ++rank) {
        const BusinessCard& card = cards[rank];
        if (card.provider != first.provider)
            return fmt::format("{} uses libfabric's provider {}, but {} uses {}", names[rank], card.provider,
                               names[0], first.provider);
        if (card.format != first.format || card.address.size() != first.address.size() ||
            card.tag_bits != first.tag_bits)
            return fmt::format(
                "{} and {} have libfabric addresses of different kinds: do both hosts have the same "
                "libfabric and interfaces of the same family?",
                names[rank], names[0]);
        const auto ip = internet_address(card);
        if (!ip || !several_hosts) continue;
        const std::string text = tcp::text(*ip);
        if (ip->loopback != 0)
            return fmt::format("{} can be reached only on its own host, at {}", names[rank], text);
        const auto [known, is_new] = owners.emplace(text, rank);
        if (!is_new && cards[known->second].host != card.host)
            return fmt::format(
                "{} and {} have the same address {} ({}): name the interface by LAPWING_TCP_INTERFACE",
                names[known->second], names[rank], text, card.device);
    }
    return "";
}

}  // namespace lapwing::ofi
