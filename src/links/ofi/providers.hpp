// Selects libfabric's providers for inter-node messages, and their address on this host.
#pragma once

#include <rdma/fabric.h>

#include <memory>
#include <string>
#include <vector>

#include "links/tcp/options.hpp"

namespace lapwing::ofi {

struct FreeInfo {
    void operator()(fi_info* info) const;
};
using Info = std::unique_ptr<fi_info, FreeInfo>;

// Properties of a provider that libfabric does not report.
struct ProviderTraits {
    const char* name = "";
    bool rdma = false;              // needs no processor for messages
    bool descriptor_wakes = false;  // its descriptor has never been seen to miss an event
    // Messages to a peer leave in the order of the calls, also those that complete without an event.
    bool sends_in_order = false;
    // A message that is longer than its receive ends the connection, and other messages on it are lost
    // without an error (libfabric 1.17).
    bool excess_disconnects = false;
};
// Of unknown providers: no RDMA, no reliable descriptor.
ProviderTraits traits(const fi_info& info);

// The usable providers, best first: with reliable datagrams, tags and directed receives, at the best address
// that `options` allows. `named`: the only provider to look for, as the user writes it ("tcp",
// "verbs;ofi_rxm"); empty: those that are worth using. `rdma_only`: only those with RDMA. `puts`: only those
// that can write into the memory of peers. Throws Error (unsupported) that lists what libfabric offers
// instead, and (invalid_argument) if no interface fits `options`.
std::vector<Info> candidates(const std::string& named, bool rdma_only, bool puts,
                             const tcp::Options& options);

// The provider for deferred work: ordered writes that counters trigger and count. A trial may still fail.
Info candidate_for_deferred_work(const std::string& provider, const tcp::Options& options);

}  // namespace lapwing::ofi
