// Deferred work for ranks that are threads of a test: of libfabric's provider `sockets`, which does it in
// software. The ranks share one endpoint, as those of one process would.
#pragma once

#include <gtest/gtest.h>

#include <barrier>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "engines/triggered/engine.hpp"
#include "links/deferred_work.hpp"
#include "links/process/process_link.hpp"

namespace lapwing::testing_engines {

inline DeferredWork& deferred_work() {
    static const auto network = open_deferred_work({.provider = "sockets"});
    return *network;
}

// All that there is, for lists that are started once.
inline triggered::GroupLimits limits_of(DeferredWork& network) {
    return {{network.entries(), network.counters(), 32768}, {}};
}

// Each rank is a thread, with a link to the others, which are all there until the last has returned.
inline void on_threads(int ranks, const std::function<void(int, Link&, std::barrier<>&)>& body) {
    const auto messages = process_links(ranks, true);
    std::barrier<> together(ranks);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank) {
        threads.emplace_back([&, rank] {
            try {
                body(rank, *messages[static_cast<std::size_t>(rank)], together);
            } catch (const Error& error) {
                ADD_FAILURE() << "rank " << rank << ": " << error.what();
                together.arrive_and_drop();
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
}

}  // namespace lapwing::testing_engines
