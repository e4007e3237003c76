// What `lapwing predict` is asked: its options, and what they mean.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lapwing/common/values.hpp"
#include "plan/tuning.hpp"
#include "predict/network.hpp"
#include "simulate/setting.hpp"

namespace lapwing {
class CommandLine;
}

namespace lapwing::tool {

struct PredictOptions {
    std::string collectives;
    std::string ranks;
    std::string bytes = "8";
    std::string algorithms = "chosen";
    std::string engines = "host,kernel";
    std::string tests = "0";
    std::string work = "1.2";
    std::string noise;
    std::string late;
    std::string network = "flat";
    int ranks_per_host = 1;
    InnerGroups inner;
    std::string placement = "in-order";
    std::string hop = "100ns";
    std::string tuning;
    std::string constants;
    std::string rendezvous = "64Ki:4Mi";
    std::string wake_up = "5us";
    int iterations = 100;
    int rounds = 3;
    std::uint64_t seed = 1;
    int threads = 0;
    std::string memory;
    bool dry_run = false;
    bool json = false;
    std::string output;
};

void add_predict_options(CommandLine& app, PredictOptions& options);

struct NoiseOfStudy {
    std::string what;  // as it was written
    simulate::Noise noise;
};

struct Study {
    PredictOptions options;
    std::vector<Collective> collectives;
    std::vector<int> ranks;
    std::vector<std::uint64_t> bytes;
    std::vector<const simulate::Engine*> engines;
    std::vector<int> tests;
    // Work: so many times the base time, or so long; neither: none.
    double work_factor = 0;
    simulate::Time work = 0;
    std::vector<NoiseOfStudy> noises;  // empty: nothing disturbs, unless ranks are late
    simulate::Lateness lateness;
    NetworkOptions network;
    bool lists_follow_hosts = false;  // where ranks stand in no order
    std::optional<Tuning> tuning;
    std::string tuning_file;
    // Of the engines on processors; UINT64_MAX: none.
    std::uint64_t rendezvous_bytes = UINT64_MAX;
    std::uint64_t window_bytes = UINT64_MAX;
    simulate::EngineCosts costs;
    int threads = 1;
    std::uint64_t memory = 0;

    bool disturbed() const { return !noises.empty() || lateness.kind != simulate::Lateness::Kind::none; }
    // The constants of an engine, and whose they are.
    simulate::Parameters parameters(const simulate::Engine& engine, const Problem& problem,
                                    std::string* where = nullptr) const;
    simulate::Setting setting(const simulate::Engine& engine, const Problem& problem,
                              const simulate::Network* network) const;
};

// A constant of --constants, in seconds: one of the two fields.
struct Constant {
    const char* name;
    simulate::Time simulate::Parameters::*time = nullptr;
    double simulate::Parameters::*of_byte = nullptr;  // picoseconds

    double seconds(const simulate::Parameters& parameters) const;
};
std::span<const Constant> all_constants();

// Throws Error (invalid_argument; system or parse for a file).
Study read_study(const PredictOptions& options);

}  // namespace lapwing::tool
