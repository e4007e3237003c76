// The MPI program that `lapwing tune` starts to choose by its results. Its argument is the settings as JSON.
// Rank 0 writes lines to standard output that begin with "lapwing-tune ": "progress SHARE WHAT", and at the
// end "result JSON".
//
// With one clock for all ranks a time goes from the first start to the last end; else it is that of the
// slowest rank, after a barrier. It is the median over the iterations of a phase, and again over the rounds.
// A round has one phase of each algorithm, in turn, so that other load on the machine affects them alike.
#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "collectives/catalogue.hpp"
#include "links/tcp/addresses.hpp"
#include "plan/selection.hpp"
#include "plan/tuning.hpp"
#include "program/clock.hpp"
#include "program/mesh.hpp"
#include "program/ranks.hpp"
#include "task/text.hpp"
#include "topology/order.hpp"
#include "tune/call.hpp"

namespace lapwing::tune {
namespace {

using bench::now;

constexpr int min_rounds = 3;
constexpr double seconds_of_phase = 0.003;
constexpr int max_iterations = 20;
// An algorithm that takes so many times as long as the fastest is not measured more than once.
constexpr double hopeless = 4;
// One that takes less than some time slices may only have been interrupted: it is tried again.
constexpr double slice = 0.02;
constexpr int tries = 5;

// Several of the short ones, because the first after a sleep is slow.
int probes(double seconds) {
    return seconds < slice ? 5 : 1;
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const std::size_t half = values.size() / 2;
    return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

MPI_Comm communicator_for(MPI_Comm parent, const std::string& engine, const Choice& choice) {
    return bench::duplicate_for(parent, engine,
                                fmt::format("{}={}", name(choice.algorithm->collective), print(choice)));
}

std::string engine_used(MPI_Comm communicator) {
    const std::string used = bench::engine_of(communicator);
    return used.empty() ? "mpi" : used;
}

// The variants to try for a problem: every algorithm with its default parameters, and with half and twice of
// them; and one more, if it is given.
std::vector<Choice> variants_of(Collective collective, const Choice* also) {
    std::vector<Choice> variants;
    for (const Algorithm* algorithm : algorithms_of(collective)) {
        const Choice usual{algorithm, default_parameters(*algorithm)};
        variants.push_back(usual);
        for (std::size_t i = 0; i < algorithm->parameters.size(); ++i) {
            const Parameter& parameter = algorithm->parameters[i];
            for (const std::int64_t value : {parameter.default_value / 2, parameter.default_value * 2}) {
                Choice other = usual;
                other.parameters[i] = std::clamp(value, parameter.min, parameter.max);
                if (other != usual) variants.push_back(other);
            }
        }
    }
    if (also != nullptr && std::find(variants.begin(), variants.end(), *also) == variants.end())
        variants.push_back(*also);
    return variants;
}

// For each variant the first that builds the same lists, mostly itself; -1 when it does not apply.
std::vector<int> representatives(const std::vector<Choice>& variants, const Problem& problem) {
    std::vector<int> places;
    std::map<std::string, int> built;
    for (const Choice& choice : variants) {
        const int place = static_cast<int>(places.size());
        places.push_back(-1);
        if (!choice.applies(problem)) continue;
        std::string lists;
        for (const int rank : {0, problem.ranks / 2, problem.ranks - 1})
            lists += print(build(problem, rank, choice));
        places.back() = built.emplace(lists, place).first->second;
    }
    return places;
}

void say(const std::string& what) {
    fmt::print("lapwing-tune {}\n", what);
    std::fflush(stdout);
}

// The settings of the program: one JSON object as the only argument.
struct Settings {
    std::vector<std::string> engines;
    std::vector<Collective> collectives;
    RequestedAlgorithms algorithms;  // that are measured beside those of the catalogue
    std::vector<std::uint64_t> bytes;
    std::vector<int> ranks;  // sizes of the groups that are measured; empty: all ranks
    int rounds = 0;          // at most
    double seconds = 0;      // that all of it is to take, about; at least three rounds are measured
};

// Throws std::exception for anything that `lapwing tune` does not write.
Settings read_settings(const char* text) {
    const nlohmann::json json = nlohmann::json::parse(text);
    Settings settings;
    json.at("engines").get_to(settings.engines);
    for (const nlohmann::json& word : json.at("collectives")) {
        const auto collective = find_collective(word.get<std::string>());
        if (!collective) throw_invalid("unknown collective " + word.dump());
        settings.collectives.push_back(*collective);
    }
    settings.algorithms = RequestedAlgorithms::parse(json.at("algorithms").get<std::string>());
    json.at("bytes").get_to(settings.bytes);
    json.at("ranks").get_to(settings.ranks);
    json.at("rounds").get_to(settings.rounds);
    json.at("seconds").get_to(settings.seconds);
    return settings;
}

// The time that is left, divided among the cases that are left.
class Budget {
  public:
    Budget(double seconds, std::size_t cases)
        : end_(now() + seconds), cases_(std::max<std::size_t>(cases, 1)) {}
    // Seconds for the next case.
    double next() {
        const std::size_t left = cases_ - std::min(begun_, cases_ - 1);
        ++begun_;
        return std::max(0.0, end_ - now()) / static_cast<double>(left);
    }
    // Share of the cases.
    double done() const { return static_cast<double>(begun_) / static_cast<double>(cases_); }

  private:
    double end_;
    std::size_t cases_;
    std::size_t begun_ = 0;
};

struct Case {
    Collective collective;
    std::uint64_t bytes;
};
// Also those that the constants of the cost model need.
std::vector<Case> cases_of(const Settings& settings) {
    std::vector<Case> cases;
    for (const Collective collective : settings.collectives) {
        if (collective == Collective::barrier)
            cases.push_back({collective, 0});
        else
            for (const std::uint64_t bytes : settings.bytes) cases.push_back({collective, bytes});
    }
    const auto asked = [&](Collective collective) {
        return std::find(settings.collectives.begin(), settings.collectives.end(), collective) !=
               settings.collectives.end();
    };
    // Latency, bytes over a link, and the overhead of many messages.
    if (!asked(Collective::broadcast)) {
        cases.push_back({Collective::broadcast, 8});
        cases.push_back({Collective::broadcast, 1 << 18});
    }
    if (!asked(Collective::alltoall)) cases.push_back({Collective::alltoall, 8});
    return cases;
}

// The measurements on one group of ranks.
class TuningRun {
  public:
    // Collective over `communicator`, which outlives it.
    TuningRun(MPI_Comm communicator, const Settings& settings, Budget& budget)
        : communicator_(communicator), settings_(settings), budget_(budget), mesh_(communicator) {
        MPI_Comm_rank(communicator, &rank_);
        MPI_Comm_size(communicator, &ranks_);
        const topology::RankLocation own =
            topology::rank_location(tcp::host_number(), -1, topology::locate(topology::allowed_processors()));
        std::vector<topology::RankLocation> parts(static_cast<std::size_t>(ranks_));
        MPI_Allgather(&own, sizeof own, MPI_BYTE, parts.data(), sizeof own, MPI_BYTE, communicator);
        for (const topology::RankLocation& one : parts) host_of_.push_back(one.host);
        const auto other = std::find_if(host_of_.begin(), host_of_.end(),
                                        [&](std::uint64_t host) { return host != host_of_[0]; });
        several_hosts_ = other != host_of_.end();
        groups_ = topology::groups_of(parts);
        auto placement = std::make_shared<const Placement>(host_of_, std::span<const int>{}, groups_);
        placement_ = placement->levels() > 1 ? placement : placement_on_hosts(host_of_);
        const std::vector<bench::RankLocation> locations = bench::locations_of_ranks(communicator);
        one_clock_ = bench::machines_of(locations) == 1;
        oversubscribed_ = bench::more_ranks_than_processors(locations);
    }

    // {"engine", "hosts", "ranks", "measured": [{"collective", "bytes", "seconds": {"ring": 0.001}}],
    // "instead": engines that ran in its place, "host_of": of each rank, where lists may follow it}
    nlohmann::json measure(const std::string& engine) {
        nlohmann::json table = {{"engine", engine},
                                {"hosts", several_hosts_ ? "several" : "one"},
                                {"ranks", ranks_},
                                {"measured", nlohmann::json::array()}};
        if (placement_ != nullptr) {
            table["host_of"] = host_of_;
            table["groups"] = groups_;
        }
        std::vector<std::string> instead;
        std::vector<Variant> variants;
        Collective collective{};
        const auto free_communicators = [&] {
            for (Variant& variant : variants)
                if (variant.communicator != MPI_COMM_NULL) MPI_Comm_free(&variant.communicator);
            variants.clear();
        };
        for (const Case& one : cases_of(settings_)) {
            if (variants.empty() || one.collective != collective) {
                free_communicators();
                collective = one.collective;
                for (const Choice& choice : variants_of(collective, settings_.algorithms.find(collective)))
                    variants.push_back({choice, MPI_COMM_NULL, 0, {}});
            }
            nlohmann::json row = measure_case(engine, one, variants, instead);
            if (!row["seconds"].empty()) table["measured"].push_back(std::move(row));
        }
        free_communicators();
        table["instead"] = instead;
        return table;
    }

  private:
    struct Variant {
        Choice choice;
        MPI_Comm communicator = MPI_COMM_NULL;
        double once = 0;  // seconds of one, about
        std::vector<double> seconds;
    };

    // A barrier: the MPI's where each rank has its own processor; elsewhere some MPIs spin for whole time
    // slices in it.
    void gather() {
        if (oversubscribed_)
            mesh_.yielding_barrier();
        else
            MPI_Barrier(communicator_);
    }

    double median_of_all(std::vector<double>& begins, std::vector<double>& ends) const {
        const int count = static_cast<int>(ends.size());
        if (one_clock_) {
            MPI_Allreduce(MPI_IN_PLACE, begins.data(), count, MPI_DOUBLE, MPI_MIN, communicator_);
            MPI_Allreduce(MPI_IN_PLACE, ends.data(), count, MPI_DOUBLE, MPI_MAX, communicator_);
        }
        std::vector<double> seconds;
        for (std::size_t i = 0; i < ends.size(); ++i) seconds.push_back(ends[i] - begins[i]);
        if (!one_clock_)
            MPI_Allreduce(MPI_IN_PLACE, seconds.data(), count, MPI_DOUBLE, MPI_MAX, communicator_);
        return median(seconds);
    }

    double phase(MPI_Comm communicator, Call& call, int iterations) {
        std::vector<double> begins;
        std::vector<double> ends;
        mesh_.sleeping_barrier();
        for (int i = 0; i < iterations; ++i) {
            MPI_Request request = MPI_REQUEST_NULL;
            gather();
            begins.push_back(now());
            call.start(communicator, request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            ends.push_back(now());
        }
        // First, because ranks may spin in the MPI while they wait.
        mesh_.sleeping_barrier();
        return median_of_all(begins, ends);
    }

    nlohmann::json measure_case(const std::string& engine, const Case& one, std::vector<Variant>& variants,
                                std::vector<std::string>& instead) {
        if (rank_ == 0) {
            say(fmt::format("progress {:.4f} {} of {} bytes on {}, {} ranks", budget_.done(),
                            mpi_name(one.collective), one.bytes, engine, ranks_));
        }
        const double share = budget_.next();
        const double begin = now();
        Call call(one.collective, one.bytes, ranks_);
        Problem problem = measured_problem(one.collective, ranks_, one.bytes);
        problem.placement = placement_;
        std::vector<Choice> choices;
        for (Variant& variant : variants) {
            choices.push_back(variant.choice);
            variant.seconds.clear();
        }
        std::vector<Variant*> tried;
        double best = 0;
        const std::vector<int> same = representatives(choices, problem);
        for (std::size_t i = 0; i < variants.size(); ++i) {
            if (same[i] != static_cast<int>(i)) continue;
            Variant& variant = variants[i];
            if (variant.communicator == MPI_COMM_NULL)
                variant.communicator = communicator_for(communicator_, engine, variant.choice);
            phase(variant.communicator, call, 1);  // connections are made, lists are built
            const std::string used = engine_used(variant.communicator);
            if (used != engine) {
                if (std::find(instead.begin(), instead.end(), used) == instead.end()) instead.push_back(used);
                continue;
            }
            variant.once = phase(variant.communicator, call, 1);
            variant.once = std::min(variant.once, phase(variant.communicator, call, probes(variant.once)));
            best = best == 0 ? variant.once : std::min(best, variant.once);
            tried.push_back(&variant);
        }
        std::vector<Variant*> hopeful;
        for (Variant* variant : tried) {
            for (int i = 0; i < tries && variant->once > hopeless * best && variant->once < slice; ++i) {
                variant->once =
                    std::min(variant->once, phase(variant->communicator, call, probes(variant->once)));
            }
            if (variant->once <= hopeless * best)
                hopeful.push_back(variant);
            else
                variant->seconds = {variant->once};
        }
        // As many for each: the first of a phase, after a sleep, is slower than those that follow.
        const double fitting = std::max(1.0, seconds_of_phase / std::max(best, 1e-7));
        const int iterations = static_cast<int>(std::min<double>(fitting, max_iterations));
        for (int round = 0; round < settings_.rounds; ++round) {
            int more = round < min_rounds || now() - begin < share ? 1 : 0;
            MPI_Bcast(&more, 1, MPI_INT, 0, communicator_);
            if (more == 0) break;
            for (std::size_t i = 0; i < hopeful.size(); ++i) {
                Variant& variant = *hopeful[(i + static_cast<std::size_t>(round)) % hopeful.size()];
                variant.seconds.push_back(phase(variant.communicator, call, iterations));
            }
        }
        nlohmann::json seconds = nlohmann::json::object();
        for (std::size_t i = 0; i < variants.size(); ++i) {
            if (same[i] < 0) continue;
            const std::vector<double>& of = variants[static_cast<std::size_t>(same[i])].seconds;
            if (!of.empty()) seconds[print(variants[i].choice)] = median(of);
        }
        return {{"collective", name(one.collective)}, {"bytes", one.bytes}, {"seconds", seconds}};
    }

    MPI_Comm communicator_;
    const Settings& settings_;
    Budget& budget_;
    bench::Mesh mesh_;
    int rank_ = 0;
    int ranks_ = 0;
    bool several_hosts_ = false;
    std::vector<std::uint64_t> host_of_;              // by rank
    std::vector<std::vector<std::uint64_t>> groups_;  // inside hosts
    std::shared_ptr<const Placement> placement_;      // null where lists have no hosts or groups to follow
    bool oversubscribed_ = false;
    bool one_clock_ = false;  // all ranks are on one machine, perhaps as several virtual hosts
};

// Seconds for each byte that is copied in memory.
double copy_seconds_per_byte() {
    constexpr std::size_t bytes = 1 << 18;
    std::vector<unsigned char> from(bytes, 1);
    std::vector<unsigned char> to(bytes);
    std::vector<double> seconds;
    for (int i = 0; i < 33; ++i) {
        const double begin = now();
        std::memcpy(to.data(), from.data(), bytes);
        from[static_cast<std::size_t>(i)] = to[bytes - 1 - static_cast<std::size_t>(i)];
        seconds.push_back(now() - begin);
    }
    return median(seconds) / bytes;
}

void run(int rank, int ranks, const char* argument) {
    Settings settings = read_settings(argument);
    if (settings.ranks.empty()) settings.ranks = {ranks};
    for (const int size : settings.ranks) {
        if (size >= 2 && size <= ranks) continue;
        throw_invalid(
            fmt::format("--ranks {2}: must be 2 to {0}, because the job has {1} ranks", ranks, ranks, size));
    }
    nlohmann::json result = bench::surroundings(MPI_COMM_WORLD);
    result["copy_seconds_per_byte"] = copy_seconds_per_byte();
    result["tables"] = nlohmann::json::array();
    Budget budget(settings.seconds,
                  settings.ranks.size() * settings.engines.size() * cases_of(settings).size());
    bench::Mesh all(MPI_COMM_WORLD);
    for (const int size : settings.ranks) {
        MPI_Comm members = MPI_COMM_NULL;
        MPI_Comm_split(MPI_COMM_WORLD, rank < size ? 0 : MPI_UNDEFINED, rank, &members);
        if (members != MPI_COMM_NULL) {
            {
                TuningRun run_of_members(members, settings, budget);
                for (const std::string& engine : settings.engines)
                    result["tables"].push_back(run_of_members.measure(engine));
            }
            MPI_Comm_free(&members);
        }
        all.sleeping_barrier();  // the others sleep meanwhile
    }
    if (rank == 0) say(fmt::format("result {}", result.dump()));
}

}  // namespace
}  // namespace lapwing::tune

int main(int argument_count, char** arguments) {
    return lapwing::bench::run_program(argument_count, arguments, "tune", lapwing::tune::run);
}
