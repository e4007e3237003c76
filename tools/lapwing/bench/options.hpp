// The options of `lapwing bench`, and the settings of its MPI program.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "lapwing/bench/catalogue.hpp"

namespace lapwing {
class CommandLine;
}

namespace lapwing::tool {

struct BenchOptions {
    const Benchmark* benchmark = nullptr;
    // What the user wrote for the benchmark's own options; flags have "1".
    std::map<std::string, std::string> given;
    std::vector<std::string> variants;  // of methods
    bool quick = false;
    std::string engines;
    int iterations = 0;
    int passes = 0;  // 0: the default
    std::string algorithm;
    std::string mpi;
    bool json = false;
    std::string output;
    bool dry_run = false;
    std::string corrupt;

    bool has(const std::string& option) const;  // the benchmark
    // What the user wrote, or the default.
    std::string value(const std::string& option) const;
    bool flag(const std::string& option) const;
    double number(const std::string& option, double least, double most) const;
    int count(const std::string& option, int least, int most) const;
    int number_of_passes() const;  // not more than there are rounds
};

// What --engine and --variant name: "native", the MPI alone; then the engines from the last choice to the
// first; "auto", Lapwing's choice; "mpi", the MPI's functions under Lapwing.
std::vector<std::string> measurable_engines();

// Those of options.benchmark.
void add_options(CommandLine& app, BenchOptions& options);

// The settings that the program reads (bench/program/settings.hpp). Throws Error (invalid_argument) that
// names the nearest valid word.
nlohmann::json program_settings(const BenchOptions& options);

}  // namespace lapwing::tool
