// The benchmarks of `lapwing bench`: what each measures, its options and their defaults, its table, and
// what `lapwing report` says about it. The rows are in bench/program/benchmarks.def.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

namespace lapwing::tool {

// A quantity of a summary as a column of a table.
struct Column {
    // `share`: a percentage that is clipped to 0 to 100, which noise may exceed.
    enum class Unit { microseconds, percent, share, percent_per_ms, gflops, number };
    const char* quantity;
    const char* title;
    Unit unit;
    bool quartiles = false;  // in the column behind it
};

struct BenchmarkOption {
    const char* name;        // "--tests"
    const char* by_default;  // as the user would write it; "" for a flag
    const char* quick = "";  // with --quick; empty: the same
};

// One file that `lapwing bench all` writes.
struct SuitePart {
    const char* file = "";     // its name; empty: the benchmark's
    const char* options = "";  // of the benchmark
    const char* in_full = "";  // further ones without --quick
};

struct Benchmark {
    const char* name;
    const char* program;       // the benchmark of the MPI program that measures it
    const char* summary = "";  // one line
    const char* about = "";    // for --help: what is measured
    const char* source = "";   // the paper and its figure
    // Measured by default; empty: the user does not choose them.
    const char* engines = "native,mpi,host,kernel";
    bool same_work = false;  // all engines do the work that is chosen for the first one
    // The options that it has besides those that all have, and the defaults of both.
    std::vector<BenchmarkOption> options{};
    bool only_these_collectives = false;  // those of the option --collective; else any
    std::vector<Column> columns{};        // of its table; empty: by the method, as overlap
    std::vector<SuitePart> suite{{}};     // its parts of `lapwing bench all`

    // In the report.
    const char* question = "";
    const char* explanation = "";
    std::vector<const char*> plots{};  // quantities that have one, the most telling first
    const char* x_title = "";          // of the rows' parameter

    const BenchmarkOption* find(const std::string& option) const;
    bool shows(const std::string& quantity) const;  // in a column
};

std::span<const Benchmark> benchmarks();
// Throws Error (invalid_argument) that names the nearest one.
const Benchmark& find_benchmark(const std::string& name);
// What the report reads of them.
nlohmann::ordered_json benchmarks_as_json();

// The columns of a benchmark's rows; those of overlap by the method, or `by_steps`, where they differ by the
// work.
const std::vector<Column>& columns_of(const std::string& benchmark, const std::string& method, bool by_steps);

}  // namespace lapwing::tool
