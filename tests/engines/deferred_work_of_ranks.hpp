// Deferred work for ranks that are threads of a test: of libfabric's provider `sockets`, which does it in
// software. The ranks share one endpoint, as those of one process would.
#pragma once

#include <cstdlib>

#include "engines/engine.hpp"
#include "links/deferred_work.hpp"

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

}  // namespace lapwing::testing_engines
