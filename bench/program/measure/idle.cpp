#include "program/measure/idle.hpp"

#include <algorithm>

#include "program/compute/clock.hpp"

namespace lapwing::bench {

// A broadcast whose root, the last rank, comes only when the others have computed: nothing can move
// meanwhile.
nlohmann::json measure_idle(Bench& bench) {
    constexpr std::uint64_t bytes = 65536;
    constexpr double seconds = 0.05;
    const int root = bench.ranks - 1;
    const auto operations = static_cast<std::uint64_t>(seconds * bench.operations_per_second);
    Exchange exchange(Collective::broadcast, bytes, bench.rank, bench.ranks, root);

    std::vector<const Caller*> callers;
    for (const std::string& engine : bench.settings.engines) callers.push_back(&bench.caller(engine));

    const auto compute = [&](const Caller* caller) {
        MPI_Request request = MPI_REQUEST_NULL;
        exchange.fill(++bench.exchanges);
        if (caller != nullptr && bench.rank != root) exchange.start(*caller, request);
        bench.gather_ranks();
        const double begin = now();
        work(operations);
        const double spent = now() - begin;
        bench.mesh->sleeping_barrier();
        if (caller != nullptr) {
            if (bench.rank == root) exchange.start(*caller, request);
            caller->wait(request);
            exchange.check(*caller);
        }
        return bench.slowest(bench.rank != root ? spent : 0);
    };

    std::vector<nlohmann::json> rounds(callers.size(), nlohmann::json::array());
    std::vector<nlohmann::json> samples(callers.size());
    std::vector<std::function<void()>> phases;
    for (std::size_t i = 0; i < callers.size(); ++i) {
        compute(callers[i]);
        phases.emplace_back([&, i] { samples[i]["alone"] = compute(nullptr); });
        phases.emplace_back([&, i] { samples[i]["pending"] = compute(callers[i]); });
    }
    run_rounds(
        bench, phases, [&] { std::fill(samples.begin(), samples.end(), nlohmann::json::object()); },
        [&] {
            for (std::size_t i = 0; i < rounds.size(); ++i) rounds[i].push_back(samples[i]);
        });
    nlohmann::json result = nlohmann::json::array();
    for (std::size_t i = 0; i < rounds.size(); ++i) {
        result.push_back({{"engine", callers[i]->engine},
                          {"used", engine_used(*callers[i])},
                          {"collective", mpi_name(Collective::broadcast)},
                          {"bytes", bytes},
                          {"operations", operations},
                          {"rounds", rounds[i]}});
    }
    return result;
}

}  // namespace lapwing::bench
