#include "links/ofi/business_card.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <rdma/fabric.h>

#include <cstring>
#include <map>
#include <optional>

#include "base/error.hpp"
#include "links/tcp/addresses.hpp"

namespace lapwing::ofi {
namespace {

constexpr std::uint32_t mark = 0x4c4f4632;  // "LOF2": the form of a card

class Writer {
  public:
    template <typename Number>
    void number(Number value) {
        append(&value, sizeof value);
    }
    void block(const void* data, std::size_t size) {
        number(static_cast<std::uint32_t>(size));
        append(data, size);
    }
    std::vector<std::byte> take() { return std::move(bytes_); }

  private:
    void append(const void* data, std::size_t size) {
        const auto* first = static_cast<const std::byte*>(data);
        bytes_.insert(bytes_.end(), first, first + size);
    }
    std::vector<std::byte> bytes_;
};

class Reader {
  public:
    explicit Reader(const std::vector<std::byte>& bytes) : bytes_(bytes) {}
    template <typename Number>
    Number number() {
        Number value{};
        std::memcpy(&value, take(sizeof value), sizeof value);
        return value;
    }
    std::string text() {
        const auto size = number<std::uint32_t>();
        return {reinterpret_cast<const char*>(take(size)), size};
    }
    std::vector<std::byte> block() {
        const auto size = number<std::uint32_t>();
        const std::byte* first = take(size);
        return {first, first + size};
    }

  private:
    const std::byte* take(std::size_t size) {
        if (size > bytes_.size() - at_)
            throw Error(ErrorCode::link, "a rank sent a truncated address of its libfabric endpoint");
        at_ += size;
        return bytes_.data() + (at_ - size);
    }
    const std::vector<std::byte>& bytes_;
    std::size_t at_ = 0;
};

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
    Writer to;
    to.number(mark);
    to.block(card.provider.data(), card.provider.size());
    to.block(card.device.data(), card.device.size());
    to.number(card.format);
    to.number(card.tag_bits);
    to.block(card.address.data(), card.address.size());
    to.number(card.memory);
    to.number(card.memory_key);
    to.number(card.presence);
    return to.take();
}

BusinessCard card_of(const std::vector<std::byte>& bytes) {
    Reader from(bytes);
    if (from.number<std::uint32_t>() != mark)
        throw Error(ErrorCode::link,
                    "a rank sent an address of its libfabric endpoint in another form: do all ranks run the "
                    "same version of Lapwing?");
    BusinessCard card;
    card.provider = from.text();
    card.device = from.text();
    card.format = from.number<std::uint32_t>();
    card.tag_bits = from.number<std::uint32_t>();
    card.address = from.block();
    card.memory = from.number<std::uint64_t>();
    card.memory_key = from.number<std::uint64_t>();
    card.presence = from.number<tcp::Address>();
    return card;
}

std::string why_apart(const std::vector<BusinessCard>& cards, const std::vector<std::string>& names) {
    const BusinessCard& first = cards.front();
    bool several_hosts = false;
    for (const BusinessCard& card : cards)
        several_hosts = several_hosts || card.presence.host != first.presence.host;
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
        if (!is_new && cards[known->second].presence.host != card.presence.host)
            return fmt::format(
                "{} and {} have the same address {} ({}): name the interface by LAPWING_TCP_INTERFACE",
                names[known->second], names[rank], text, card.device);
    }
    return "";
}

}  // namespace lapwing::ofi
