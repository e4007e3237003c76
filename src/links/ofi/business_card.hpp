// What a process tells the others of its endpoint.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "links/tcp/address.hpp"

namespace lapwing::ofi {

struct Card {
    std::string provider;        // "tcp;ofi_rxm"
    std::string device;          // "eth0"
    std::uint32_t format = 0;    // libfabric's, of the address
    std::uint32_t tag_bits = 0;  // that a message can have
    std::vector<std::byte> address;
    tcp::Address presence{};  // whom to ask whether the process is there
};

std::vector<std::byte> bytes_of(const Card& card);
// Throws Error (link) when they are none of a card.
Card card_of(const std::vector<std::byte>& bytes);

// Why the ranks with these cards and names cannot reach each other; empty when nothing speaks against it.
std::string why_apart(const std::vector<Card>& cards, const std::vector<std::string>& names);

}  // namespace lapwing::ofi
