#include "lapwing/tune/simulated.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "base/error.hpp"
#include "lapwing/common/simulated_costs.hpp"
#include "simulate/simulation.hpp"

namespace lapwing::tool {
namespace {

// An algorithm that sends more is never the fastest, and would take minutes.
constexpr std::uint64_t max_simulated_messages = 1 << 22;

std::optional<Measured> simulate_case(Collective collective, int ranks, std::uint64_t bytes,
                                      const simulate::Setting& setting) {
    Measured row;
    row.collective = collective;
    row.ranks = ranks;
    row.bytes = bytes;
    row.problem = measured_problem(collective, ranks, bytes);
    for (const Algorithm* algorithm : algorithms_of(collective)) {
        const Choice choice{algorithm, default_parameters(*algorithm)};
        if (!algorithm->applies(row.problem, choice.parameters)) continue;
        if (simulate::estimate(row.problem, choice).messages > max_simulated_messages) continue;
        const simulate::Lists lists = simulate::make_lists(row.problem, choice);
        row.seconds.emplace_back(choice, simulate::to_seconds(simulate::simulate(lists, setting).end()));
    }
    if (row.seconds.empty()) return {};
    return row;
}

}  // namespace

std::vector<MeasuredTable> simulate_tables(const SimulatedChoices& asked, const Tuning& tuning) {
    std::vector<MeasuredTable> tables;
    for (const std::string& engine : asked.engines) {
        for (const int ranks : asked.ranks) {
            const Surroundings of{engine, true};
            Problem group{.collective = Collective::barrier, .ranks = ranks};
            const Tuning::Table* known = tuning.messages(group, of);
            if (known == nullptr) continue;
            simulate::Setting setting;
            for (const simulate::Engine& one : simulate::engines()) {
                if (engine == one.name) setting.engine = one;
            }
            setting.parameters = simulate::parameters_of(Guidance{&tuning, of}.machine(group));
            set_costs(setting.parameters, *known->messages);
            set_rendezvous(setting.parameters, setting.engine);
            MeasuredTable table;
            table.of = of;
            table.ranks = ranks;
            for (const Collective collective : asked.collectives) {
                const bool barrier = collective == Collective::barrier;
                for (const std::uint64_t bytes : barrier ? std::vector<std::uint64_t>{0} : asked.bytes) {
                    if (auto row = simulate_case(collective, ranks, bytes, setting)) {
                        table.measured.push_back(std::move(*row));
                    }
                }
                fmt::print(stderr, "simulated {} of {} ranks, {} engine\n", mpi_name(collective), ranks,
                           engine);
            }
            tables.push_back(std::move(table));
        }
    }
    if (tables.empty()) {
        throw Error(ErrorCode::unsupported,
                    "the file has no message costs between hosts: measure on several hosts first");
    }
    return tables;
}

}  // namespace lapwing::tool
