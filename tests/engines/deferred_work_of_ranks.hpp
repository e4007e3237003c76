// Deferred work for ranks that are threads of a test: of libfabric's provider `sockets`, which does it in
// software. The ranks share one endpoint, as those of one process would.
#pragma once

#include <gtest/gtest.h>

#include <barrier>
#include <cstdlib>
#include <functional>

#include "engines/engine.hpp"
#include "engines/ranks.hpp"
#include "links/deferred_work.hpp"
#include "links/process/process_link.hpp"

namespace lapwing::testing_engines {

// Before an engine is asked whether it is available.
inline const bool provider_is_named = ::setenv("LAPWING_TRIGGER_PROVIDER", "sockets", 1) == 0;

inline DeferredWork& deferred_work() {
    static const auto network = open_deferred_work({.provider = "sockets"});
    return *network;
}

inline void offer_deferred_work(EngineContext& context) {
    context.deferred_work = &deferred_work();
    context.options.trigger_entries = context.deferred_work->entries();
    context.options.trigger_counters = context.deferred_work->counters();
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
