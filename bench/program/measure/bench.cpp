#include <algorithm>

#include "program/compute/clock.hpp"
#include "program/measure/bench.hpp"

namespace lapwing::bench {

// First a barrier in which waiting ranks sleep: others may still compute on the same processors. Then a
// tighter one: the MPI's, which ranks with their own processors leave within a microsecond; where ranks share
// processors, some MPIs spin for whole time slices in it.
void Bench::gather_ranks() const {
    mesh->sleeping_barrier();
    if (oversubscribed) {
        mesh->yielding_barrier();
    } else {
        PMPI_Barrier(world);
    }
}

// The sleeping barrier comes first because ranks may spin in the MPI while others are still timed.
void Bench::slowest(std::vector<double>& seconds) const {
    mesh->sleeping_barrier();
    PMPI_Allreduce(MPI_IN_PLACE, seconds.data(), static_cast<int>(seconds.size()), MPI_DOUBLE, MPI_MAX,
                   world);
}

void Bench::sum(std::vector<double>& values) const {
    mesh->sleeping_barrier();
    PMPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE, MPI_SUM, world);
}

double Bench::slowest(double seconds) const {
    std::vector<double> one{seconds};
    slowest(one);
    return one.front();
}

// A hint on a new communicator, before its first collective, requests the engine.
const Caller& Bench::caller(const std::string& engine, const std::string& algorithm,
                            const std::string& purpose) {
    const bool direct = engine == "mpi";
    const std::string key = engine + "|" + (direct ? "" : algorithm) + "|" + purpose;
    for (const auto& known : callers_) {
        if (known->key == key) return known->caller;
    }
    callers_.push_back(std::make_unique<Known>(Known{key, Caller{engine, MPI_COMM_NULL, direct}}));
    Caller& caller = callers_.back()->caller;
    MPI_Comm_dup(world, &caller.communicator);
    if (direct) return caller;
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    MPI_Info_set(info, "lapwing_engine", engine.c_str());
    if (!algorithm.empty()) MPI_Info_set(info, "lapwing_algorithm", algorithm.c_str());
    MPI_Comm_set_info(caller.communicator, info);
    MPI_Info_free(&info);
    return caller;
}

void Bench::free_callers() {
    for (const auto& known : callers_) MPI_Comm_free(&known->caller.communicator);
    callers_.clear();
}

double mean(const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values) sum += value;
    return sum / static_cast<double>(values.size());
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

void calibrate(Bench& bench) {
    constexpr double long_enough = 0.02;
    constexpr int repetitions = 5;
    std::uint64_t operations = 100000;
    std::vector<double> seconds;
    while (seconds.size() < repetitions) {
        bench.gather_ranks();
        const double begin = now();
        work(operations);
        const double spent = bench.slowest(now() - begin);
        if (spent < long_enough) {
            operations *= 2;
        } else {
            seconds.push_back(spent);
        }
    }
    bench.operations_per_second =
        static_cast<double>(operations) / *std::min_element(seconds.begin(), seconds.end());
}

void run_rounds(const Bench& bench, const std::vector<std::function<void()>>& phases,
                const std::function<void()>& begin, const std::function<void()>& end) {
    constexpr int fewest = 3;
    const double started = now();
    const auto late = [&] { return bench.slowest(now() - started) > bench.settings.seconds; };
    for (int round = 0; round < bench.settings.rounds; ++round) {
        if (round >= fewest && bench.settings.seconds > 0 && late()) break;
        begin();
        for (std::size_t i = 0; i < phases.size(); ++i) {
            phases[(i + static_cast<std::size_t>(round)) % phases.size()]();
        }
        end();
        bench.report((round + 1.0) / bench.settings.rounds);
    }
}

std::string engine_used(const Caller& caller) {
    if (caller.direct) return "mpi";
    MPI_Info info = MPI_INFO_NULL;
    char value[MPI_MAX_INFO_VAL + 1] = "";
    int found = 0;
    MPI_Comm_get_info(caller.communicator, &info);
    MPI_Info_get(info, "lapwing_engine_used", MPI_MAX_INFO_VAL, value, &found);
    MPI_Info_free(&info);
    return found != 0 ? value : "";
}

}  // namespace lapwing::bench
