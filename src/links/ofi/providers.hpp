// Which of libfabric's providers may join the hosts, and by which address of this one.
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

// What is known of a provider that libfabric does not say.
struct ProviderTraits {
    const char* name = "";
    bool rdma = false;              // moves messages without the processor
    bool descriptor_wakes = false;  // its descriptor has been seen to miss nothing
    // What has been sent to a peer leaves in the order of the calls, also what completes without a word.
    bool sends_in_order = false;
    // A message that is longer than the receive that waits for it ends the connection, and whatever else is
    // on its way there is lost without a word (libfabric 1.17).
    bool excess_disconnects = false;
};
// Of others than the known ones: no RDMA, and no trust.
ProviderTraits traits(const fi_info& info);

// One for each provider that could be used, the best first: with reliable datagrams, tags and directed
// receives, at the best address that `options` allows. `named`: a provider as the user writes it ("tcp",
// "verbs;ofi_rxm"), the only one that is looked for; without, those that are worth it by themselves. With
// `rdma_only` those that do not need the processor. Throws Error (unsupported) that says what libfabric
// offers instead, and (invalid_argument) when no interface fits `options`.
std::vector<Info> candidates(const std::string& named, bool rdma_only, const tcp::Options& options);

// The provider for deferred work: writes into regions that counters count, started by counters, in order. It
// may still decline when it is tried.
Info candidate_for_deferred_work(const std::string& provider, const tcp::Options& options);

}  // namespace lapwing::ofi
