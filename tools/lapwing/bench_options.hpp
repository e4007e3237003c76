// The options of `lapwing bench`, and what its MPI program is told.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace CLI {
class App;
}

namespace lapwing::tool {

struct BenchOptions {
    std::string what;  // overlap or base
    std::string engines;
    // Empty, 0 or negative: what is usual for what is measured.
    std::string collectives;
    std::string bytes;
    std::string methods = "wait";
    std::string compute = "work";
    int rounds = 0;
    double seconds = -1;
    int iterations = 0;
    double work_factor = 1.2;
    double quantum_microseconds = 0;
    bool no_limit = false;
    bool idle = false;
    std::string interface;
    std::string algorithm;
    std::string mpi;
    std::string json;
    bool dry_run = false;
    std::string corrupt;
};

void add_options(CLI::App& app, BenchOptions& options);

// Throws Error (invalid_argument) for a word that is no benchmark, and for options that it does not have.
void check_benchmark(const CLI::App& app, const BenchOptions& options);

// The settings that the program reads (bench/overlap/settings.hpp). Throws Error (invalid_argument) that
// names the nearest valid word.
nlohmann::json program_settings(const BenchOptions& options);

}  // namespace lapwing::tool
