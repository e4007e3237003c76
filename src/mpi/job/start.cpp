#include "mpi/job/start.hpp"

#include <fmt/format.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/settings.hpp"
#include "device/memory.hpp"
#include "engines/progress_advice.hpp"
#include "links/tcp/addresses.hpp"
#include "mpi/job/agreement.hpp"
#include "mpi/job/runtime.hpp"
#include "mpi/job/tracing.hpp"
#include "mpi/native/guard.hpp"
#include "plan/options.hpp"

extern char** environ;

namespace lapwing {
namespace {

[[noreturn]] void give_up(const std::string& why) {
    int rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    // One message is enough when all ranks have the same.
    if (rank != 0) ::sleep(1);
    end_job(why, 2);
}

void read(const Settings& settings) {
    runtime.options = read_plan_options(settings, {"mpi"});
    runtime.takes_blocking = parse_switch("LAPWING_BLOCKING", settings.blocking);
    check_word("LAPWING_REPORT", settings.report, {"none", "text", "json"});
    runtime.report_form = settings.report;
    runtime.report_file = settings.report_file;
    device::memory.enabled = takes_device_memory(settings);
    runtime.measures = runtime.report_form != "none" || !settings.trace.empty();
}

// Ranks that choose by different settings would build lists that do not fit together.
void compare_settings(const Settings& settings) {
    const SettingHashes mine = shared_setting_hashes(settings);
    // The greatest of all ranks' hashes, and of their complements: both are this rank's where all are equal.
    std::array<std::uint64_t, 2 * setting_count> most{};
    for (std::size_t i = 0; i < setting_count; ++i) {
        most[2 * i] = mine[i];
        most[2 * i + 1] = ~mine[i];
    }
    const auto own = most;
    PMPI_Allreduce(MPI_IN_PLACE, most.data(), static_cast<int>(most.size()), MPI_UINT64_T, MPI_MAX,
                   MPI_COMM_WORLD);
    const auto differs = std::mismatch(own.begin(), own.end(), most.begin()).first;
    if (differs == own.end()) return;
    const auto row = static_cast<std::size_t>(differs - own.begin()) / 2;
    give_up(fmt::format(
        "{} differs between ranks; pass the LAPWING_* variables to all hosts, as lapwing run does",
        setting_rows()[row].variable));
}

// So would ranks whose files differ, although the variables name the same path.
void compare_files(const char* what, const char* variable, const std::string& path, std::uint64_t mine) {
    int rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    std::uint64_t first = mine;
    PMPI_Bcast(&first, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    const std::string differs = agree_on_trouble(mine == first ? "" : "it differs from rank 0's", rank);
    if (!differs.empty()) {
        give_up(
            fmt::format("the {} '{}' ({}) is not the same on all hosts: {}", what, path, variable, differs));
    }
}

// The ranks exchange where they run, so all know whether the job spans hosts: another algorithm is the best
// one then.
void start_network(const Settings& settings) {
    topology::HostOrder hosts;
    if (!settings.topology.empty()) {
        hosts = topology::HostOrder::read(settings.topology);
        compare_files("topology file", "LAPWING_TOPOLOGY", settings.topology, hosts.fingerprint());
    }
    RankLocations& locations = runtime.locations;
    const shm::ShmAddress mine = runtime.network.open(settings, runtime.options.engine);
    const std::vector<shm::ShmAddress> memories = locations.exchange(hosts, mine);
    runtime.options.several_hosts = !locations.all_on_one_host();
    int rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0 && !settings.topology.empty() && locations.out_of_order()) {
        fmt::print(stderr,
                   "lapwing: the topology file '{}' names none of the job's hosts; rank 0 runs on {}\n",
                   settings.topology, tcp::host_name());
    }
    begin_tracing(settings, locations);
    runtime.network.start(locations, memories);
    runtime.options.engine = runtime.network.engine();
}

Progressed progressed(int ranks) {
    Progressed lists;
    for (const CollectiveCount& count : runtime.report.collectives) {
        lists.waited += static_cast<double>(count.wait_time) * 1e-9;
        lists.elsewhere += static_cast<double>(count.hidden_time) * 1e-9;
    }
    lists.processors = ::sysconf(_SC_NPROCESSORS_ONLN);
    lists.ranks = ranks;
    return lists;
}

}  // namespace

void start_job(bool collective) {
    try {
        const Settings settings = read_settings(environ);
        read(settings);
        if (!collective) return;
        compare_settings(settings);
        if (runtime.options.tuning != nullptr) {
            compare_files("tuning file", "LAPWING_TUNING", settings.tuning,
                          runtime.options.tuning->fingerprint());
        }
        start_network(settings);
    } catch (const Error& error) {
        give_up(error.what());
    }
}

void report_job() {
    if (runtime.report_form == "none") return;
    Manner manner{
        runtime.options.engine, runtime.network.joined_by(), runtime.network.missing(), "", {}, "", ""};
    if (const shm::ShmNode* node = runtime.network.node(); node != nullptr && node->ranks() > 1) {
        manner.progress = runtime.network.progress_thread() != nullptr ? "thread" : "caller";
        manner.transfers = node->transfer_times();
        manner.copies_refused = node->copies_refused();
        if (manner.progress == "caller") manner.advice = advise_progress_thread(progressed(node->ranks()));
    }
    write_report(runtime.report, runtime.report_form, runtime.report_file, manner);
}

}  // namespace lapwing
