// Deferred work for ranks that are threads of a test: of libfabric's provider `sockets`, which does it in
// software. The ranks share one endpoint, as those of one process would.
#pragma once

#include "engines/ranks.hpp"
#include "engines/triggered/deferred_work.hpp"
#include "engines/triggered/engine.hpp"
#include "support/process_link.hpp"
#include "support/unit.hpp"

namespace lapwing::testing_engines {

inline DeferredWork& deferred_work() {
    static const auto network = open_deferred_work({.provider = "sockets"});
    return *network;
}

// All that there is, for lists that are not persistent.
inline triggered::GroupLimits limits_of(DeferredWork& network) {
    return {{network.entries(), network.counters(), 32768}, {}};
}

// Calls `body` on a thread for each rank, with a link to the other ranks, which exist until all have
// returned.
inline void on_threads(int ranks, const std::function<void(int, Link&, std::barrier<>&)>& body) {
    const auto messages = process_links(ranks, true);
    on_ranks(ranks, [&](int rank, std::barrier<>& together) {
        body(rank, *messages[static_cast<std::size_t>(rank)], together);
    });
}

}  // namespace lapwing::testing_engines
