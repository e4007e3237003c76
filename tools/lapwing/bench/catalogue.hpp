// The benchmarks of `lapwing bench`: what each measures, its options, what is usual, and its table.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace lapwing::tool {

// A quantity of a summary as a column of a table.
struct Column {
    enum class Unit { microseconds, percent, gflops, number };
    const char* quantity;
    const char* title;
    Unit unit;
    bool quartiles = false;  // in the column behind it
};

struct BenchmarkOption {
    const char* name;        // "--tests"
    const char* usual;       // as the user would write it; "" for a flag
    const char* quick = "";  // with --quick; empty: the same
};

struct Benchmark {
    const char* name;
    const char* summary;  // one line
    const char* about;    // for --help: what is measured, and where it comes from
    const char* engines;
    // What it has beside the options that all have, and the usual values of both.
    std::vector<BenchmarkOption> options;
    std::vector<Column> columns;

    const BenchmarkOption* find(const std::string& option) const;
};

std::span<const Benchmark> benchmarks();
// Throws Error (invalid_argument) that names the nearest one.
const Benchmark& find_benchmark(const std::string& name);

// What `lapwing bench all` runs: the name of the file, the benchmark, its options, and more of them where it
// is not to be quick.
struct SuitePart {
    const char* file;
    const char* benchmark;
    const char* options = "";
    const char* in_full = "";
};
std::span<const SuitePart> suite();

// The columns of a row by `method` of a benchmark; `by_steps`: rows of overlap that differ by the work.
const std::vector<Column>& columns_of(const std::string& benchmark, const std::string& method, bool by_steps);

}  // namespace lapwing::tool
