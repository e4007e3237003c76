// What the double of a provider is made of: libfabric's objects, and the network between its endpoints.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <vector>

namespace ofi_double {

constexpr std::size_t inject_bytes = 32;
constexpr std::size_t eager_bytes = 4096;  // longer ones wait with their sender for the receive
constexpr unsigned tag_bits = 48;

inline long demand(const char* name, long usual) {
    const char* text = std::getenv(name);
    return text == nullptr ? usual : std::strtol(text, nullptr, 10);
}

[[noreturn]] inline void broken_rule(const char* rule) {
    std::fprintf(stderr, "the double of libfabric: %s\n", rule);
    std::abort();
}
inline void rule(bool kept, const char* text) {
    if (!kept) broken_rule(text);
}

struct Endpoint;
struct Region;

struct Fabric {
    fid_fabric fid{};
    int children = 0;
};
struct Domain {
    fid_domain fid{};
    Fabric* fabric = nullptr;
    bool local = false;
    std::set<Region*> regions;
    int children = 0;
};
struct Region {
    fid_mr fid{};
    Domain* domain = nullptr;
    const std::byte* begin = nullptr;
    std::size_t bytes = 0;
    std::uint64_t access = 0;
};
struct Addresses {
    fid_av fid{};
    Domain* domain = nullptr;
    std::vector<std::uint64_t> numbers;
};
struct Completion {
    fi_cq_err_entry entry{};
    long reads_left = 0;
};
struct Queue {
    fid_cq fid{};
    Domain* domain = nullptr;
    std::deque<Completion> completions;
    int descriptor = -1;
    long lost_events = 0;
    long late = 0;
    unsigned long events = 0;
    Endpoint* endpoint = nullptr;
};
struct Operation {  // a receive, or a send that the peer has not taken
    void* context = nullptr;
    std::byte* data = nullptr;
    std::size_t bytes = 0;
    std::uint64_t peer = 0;  // number of its endpoint
    std::uint64_t tag = 0;
};
struct Arrival {
    std::uint64_t from = 0;
    std::uint64_t tag = 0;
    std::size_t bytes = 0;
    std::vector<std::byte> copy;  // of an eager one
    Operation send;               // of another
};
struct Write {  // to memory of an endpoint's peer
    std::byte* to = nullptr;
    std::vector<std::uint64_t> words;  // that are not there yet
};
struct Endpoint {
    fid_ep fid{};
    Domain* domain = nullptr;
    std::uint64_t number = 0;
    Addresses* addresses = nullptr;
    Queue* queue = nullptr;
    bool enabled = false;
    long room = 0;
    std::size_t most = 0;
    long sends = 0;
    std::atomic<bool> in_use = false;
    std::set<void*> contexts;
    std::deque<Operation> receives;
    std::deque<Arrival> arrivals;
    std::vector<Write> writes;
};

inline std::mutex network;
inline std::uint64_t numbers = 0;
inline std::map<std::uint64_t, Endpoint*> endpoints;

template <typename Object, typename Fid>
Object& object_of(Fid* fid) {
    return *static_cast<Object*>(fid->fid.context);
}

}  // namespace ofi_double
