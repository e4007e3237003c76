// The MPI program of `lapwing bench`, which starts it, prints its results as tables, and is the only
// one to call it: its argument is the settings as JSON. Rank 0 writes lines to standard output that begin
// with "lapwing-overlap ": "progress SHARE", and at the end "result JSON".
#include <fmt/format.h>
#include <mpi.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <set>
#include <thread>

#include "base/error.hpp"
#include "measure.hpp"
#include "places.hpp"

namespace lapwing::overlap {
namespace {

nlohmann::json surroundings(Bench& bench) {
    utsname system{};
    uname(&system);
    const std::vector<std::string> machines = of_all_ranks(bench.world, machine());
    bench.crowded = more_ranks_than_processors(bench.world);
    return {{"ranks", bench.ranks},
            {"mpi", mpi_version()},
            {"kernel", fmt::format("{} {} {}", system.sysname, system.release, system.machine)},
            {"hosts", of_all_ranks(bench.world, system.nodename)},
            {"machines", std::set<std::string>(machines.begin(), machines.end()).size()},
            {"processors", static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN))},
            {"processors_of_ranks", of_all_ranks(bench.world, processors())},
            {"more_ranks_than_processors", bench.crowded},
            {"addresses", of_all_ranks(bench.world, bench.mesh->address())}};
}

// An engine is asked for by a hint on a communicator of its own, before its first collective.
std::vector<Caller> make_callers(const Bench& bench) {
    std::vector<Caller> callers;
    for (const std::string& engine : bench.settings.engines) {
        Caller caller{engine, MPI_COMM_NULL, engine == "mpi"};
        MPI_Comm_dup(bench.world, &caller.communicator);
        if (!caller.direct) {
            MPI_Info info = MPI_INFO_NULL;
            MPI_Info_create(&info);
            MPI_Info_set(info, "lapwing_engine", engine.c_str());
            MPI_Comm_set_info(caller.communicator, info);
            MPI_Info_free(&info);
        }
        callers.push_back(caller);
    }
    return callers;
}

struct Case {
    Collective collective;
    std::uint64_t bytes;
    Method method;
};

std::vector<Case> cases_of(const Settings& settings) {
    std::vector<Case> cases;
    for (const Collective collective : settings.collectives) {
        const bool empty = collective == Collective::barrier;
        for (const Method method : settings.methods) {
            for (const std::uint64_t bytes : empty ? std::vector<std::uint64_t>{0} : settings.bytes) {
                cases.push_back({collective, bytes, method});
            }
        }
    }
    return cases;
}

bool computes(const Settings& settings) {
    return settings.idle || std::any_of(settings.methods.begin(), settings.methods.end(),
                                        [](Method method) { return method != Method::base; });
}

void say(const Bench& bench, const std::string& what) {
    if (bench.rank != 0) return;
    fmt::print("lapwing-overlap {}\n", what);
    std::fflush(stdout);
}

void run(Bench& bench, const char* argument) {
    bench.settings = read_settings(argument);
    if (bench.ranks < 2) {
        throw Error(ErrorCode::invalid_argument, "collectives are measured between ranks; start two or more");
    }
    bench.mesh = std::make_unique<Mesh>(bench.world, bench.settings.interface);
    nlohmann::json result = surroundings(bench);
    bench.callers = make_callers(bench);
    const std::vector<Case> cases = cases_of(bench.settings);
    std::uint64_t most = 1;
    for (const Case& one : cases) {
        most = std::max(most, traffic_of(one.collective, one.bytes, bench.rank, bench.ranks, 0).longest());
    }
    if (bench.settings.limit) bench.plain = std::make_unique<Plain>(*bench.mesh, most);
    if (computes(bench.settings)) {
        calibrate(bench);
        result["operations_per_second"] = bench.operations_per_second;
    }

    const double parts = static_cast<double>(cases.size()) + (bench.settings.idle ? 1 : 0);
    double part = 0;
    bench.report = [&](double share) { say(bench, fmt::format("progress {:.4f}", (part + share) / parts)); };
    result["rows"] = nlohmann::json::array();
    for (const Case& one : cases) {
        result["rows"].push_back(one.method == Method::base
                                     ? measure_base_row(bench, one.collective, one.bytes)
                                     : measure_row(bench, one.collective, one.bytes, one.method));
        ++part;
    }
    if (bench.settings.idle) result["idle"] = measure_idle(bench);
    bench.mesh->sleeping_barrier();
    bench.plain.reset();
    say(bench, fmt::format("result {}", result.dump()));
    for (Caller& caller : bench.callers) MPI_Comm_free(&caller.communicator);
}

}  // namespace
}  // namespace lapwing::overlap

int main(int argument_count, char** arguments) {
    using namespace lapwing::overlap;
    int provided = 0;
    MPI_Init_thread(&argument_count, &arguments, MPI_THREAD_FUNNELED, &provided);
    Bench bench;
    bench.world = MPI_COMM_WORLD;
    MPI_Comm_rank(bench.world, &bench.rank);
    MPI_Comm_size(bench.world, &bench.ranks);
    try {
        if (argument_count != 2) {
            throw lapwing::Error(lapwing::ErrorCode::invalid_argument,
                                 "this program is started by `lapwing bench`");
        }
        run(bench, arguments[1]);
    } catch (const std::exception& error) {
        char host[256] = "";
        gethostname(host, sizeof host - 1);
        fmt::print(stderr, "lapwing bench: rank {} on {}: {}\n", bench.rank, host, error.what());
        std::fflush(nullptr);
        // MPICH's launcher drops what it has not forwarded yet when a rank aborts.
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
    return 0;
}
