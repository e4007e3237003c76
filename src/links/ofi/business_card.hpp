// The business card of an endpoint: what its process tells the others of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "links/tcp/address.hpp"

namespace lapwing::ofi {

struct BusinessCard {
    std::string provider;        // "tcp;ofi_rxm"
    std::string device;          // "eth0"
    std::uint32_t format = 0;    // libfabric's, of the address
    std::uint32_t tag_bits = 0;  // that a message can have
    std::vector<std::byte> address;
    tcp::Address presence{};  // whom to ask whether the process is there
};

std::vector<std::byte> bytes_of(const BusinessCard& card);
// Throws Error (link) when they are none of a card.
BusinessCard card_of(const std::vector<std::byte>& bytes);

// Why the ranks with these cards and names cannot reach each other; empty when nothing speaks against it.
std::string why_apart(const std::vector<BusinessCard>& cards, const std::vector<std::string>& names);

}  // namespace lapwing::ofi
