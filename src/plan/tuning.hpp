// Measured choices: which algorithm was the fastest, by collective, engine, hosts, ranks and bytes, and the
// constants of the cost model for what was not measured. Read from a file that `lapwing tune` writes
// (LAPWING_TUNING); what Lapwing itself ships has the same form.
//
//   {"lapwing_tuning": 1,
//    "tables": [{"engine": "kernel", "hosts": "several", "ranks": [4, 4],
//                "ranks_per_host": [2, 2],                                       (optional)
//                "made": {...}, "measured": [...],                               (for people only)
//                "machine": {"latency": 2e-05, "per_byte": 8e-09},               (optional)
//                "choices": {"alltoall": [{"from": 0, "take": "bruck"},          (optional)
//                                         {"from": 4096, "take": "pairwise:window=2"}]}}]}
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/algorithm.hpp"

namespace lapwing {

// Where a group stands, as far as choices depend on it; equal on all its ranks.
struct Surroundings {
    std::string engine = "kernel";  // that will run the list
    bool several_hosts = true;
};

// The costs of a message, of a copy or of a byte, by their names in tuning files.
struct NamedCost {
    const char* name;
    double Machine::*cost;

    bool per_byte() const { return std::string_view(name).ends_with("per_byte"); }
};
inline constexpr NamedCost machine_costs[] = {
    {"latency", &Machine::latency},
    {"task", &Machine::task},
    {"per_byte", &Machine::per_byte},
    {"copy_per_byte", &Machine::copy_per_byte},
    {"copy", &Machine::copy},
    {"intra_node_latency", &Machine::intra_node_latency},
    {"intra_node_task", &Machine::intra_node_task},
    {"intra_node_per_byte", &Machine::intra_node_per_byte},
};

class Tuning {
  public:
    // From bytes (of a block, see Problem) upwards, until the next row of the same collective.
    struct Row {
        std::uint64_t from = 0;
        Choice choice;
        double seconds = 0;  // that it took; 0: not told
    };
    struct Table {
        Surroundings of;
        int first_ranks = 1;
        int last_ranks = 1;
        int first_per_host = 1;  // of the host that has most
        int last_per_host = std::numeric_limits<int>::max();
        std::optional<Machine> machine;
        std::vector<std::pair<Collective, std::vector<Row>>> choices;  // rows by rising bytes
    };
    struct Found {
        const Row* row = nullptr;  // null when nothing is said
        std::string where;         // "FILE, tables[0].choices.alltoall[1]"
    };

    // `name` is what messages call the text. Throws Error (parse) with the name and the line or field, naming
    // the nearest valid word.
    static Tuning parse(std::string_view text, const std::string& name);
    // Throws Error (system) when the file cannot be read, else as parse().
    static Tuning read(const std::string& path);

    // Looks at nothing of the problem but collective, ranks, bytes, and how many ranks the largest host has.
    Found find(const Problem& problem, const Surroundings& surroundings) const;
    // Of the surroundings' tables with constants, that of the nearest number of ranks on a host, and of those
    // that of the nearest number of ranks; null when there is none.
    const Table* constants(const Problem& problem, const Surroundings& surroundings) const;
    std::string where(const Table& table) const;  // "FILE, tables[0]"

    const std::vector<Table>& tables() const { return tables_; }
    // Of the text: ranks with different files would choose differently.
    std::uint64_t fingerprint() const { return fingerprint_; }
    // The list files that the choices name, each once for each of its collectives.
    std::vector<const UserLists*> list_files() const;

  private:
    std::string name_;
    std::vector<Table> tables_;
    std::uint64_t fingerprint_ = 0;
};

// The problem that is measured for a collective and a size: blocks of so many bytes, all of one length;
// reductions of doubles by sum, of whole elements; the root is rank 0.
Problem measured_problem(Collective collective, int ranks, std::uint64_t bytes);

// What Lapwing ships: defaults.json, measured on virtual hosts.
const Tuning& shipped_tuning();

}  // namespace lapwing
