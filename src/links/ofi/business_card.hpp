// The business card of an endpoint: its address, for the other processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lapwing::ofi {

struct BusinessCard {
    std::string provider;        // "tcp;ofi_rxm"
    std::string device;          // "eth0"
    std::uint32_t format = 0;    // of the address; libfabric's number
    std::uint32_t tag_bits = 0;  // of a message
    std::vector<std::byte> address;
    // Of the inboxes: where they begin, as libfabric counts, and their key.
    std::uint64_t memory = 0;
    std::uint64_t memory_key = 0;
    std::uint64_t host = 0;  // equal for processes of one host
};

std::vector<std::byte> bytes_of(const BusinessCard& card);
// Empty if the bytes are not a card of this version.
std::optional<BusinessCard> card_of(const std::vector<std::byte>& bytes);

// Why the ranks with these cards and names cannot reach each other; empty if no reason is known.
std::string why_apart(const std::vector<BusinessCard>& cards, const std::vector<std::string>& names);

}  // namespace lapwing::ofi
