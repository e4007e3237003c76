#include "mpi/job/start.hpp"

#include <fmt/format.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/settings.hpp"
#include "base/trace.hpp"
#include "base/values.hpp"
#include "device/memory.hpp"
#include "engines/job.hpp"
#include "job/settings.hpp"
#include "links/tcp/addresses.hpp"
#include "mpi/job/metadata.hpp"
#include "mpi/job/recording.hpp"
#include "mpi/job/report.hpp"
#include "mpi/job/runtime.hpp"
#include "mpi/native/guard.hpp"
#include "mpi/native/launcher.hpp"
#include "mpi/native/members.hpp"
#include "mpi/native/native.hpp"
#include "plan/options.hpp"

extern char** environ;

namespace lapwing {

Runtime runtime;

namespace {

// A rank without the library takes no part in the exchanges of the start, which would wait for ever.
void require_library_everywhere() {
    const std::string missing = next_rank_without_library(rank_in(MPI_COMM_WORLD), ranks_in(MPI_COMM_WORLD));
    if (!missing.empty())
        end_job(
            fmt::format(
                "{} starts the MPI without Lapwing's library, which all ranks need: have wrapper scripts, "
                "containers and ssh pass LD_PRELOAD on, or run the job without Lapwing",
                missing),
            2);
}

void read(const Settings& settings) {
    check_settings(settings);
    runtime.options = read_plan_options(settings, {"mpi"});
    check_word("LAPWING_BLOCKING", settings.blocking, {"off", "on"});
    runtime.takes_blocking = settings.blocking == "on";
    check_word("LAPWING_REPORT", settings.report, {"none", "text", "json"});
    runtime.report_target = {settings.report, settings.report_file, settings.report_mark};
    device::memory.enabled = takes_device_memory(settings);
    if (runtime.report_target.form != "none" || !settings.trace.empty()) runtime.measures = true;
}

// By all ranks of MPI_COMM_WORLD together, whose locations are known: begins to record if LAPWING_TRACE asks
// for it, and compares the clocks of the hosts.
void begin_tracing(Job& job, const RankLocations& locations) {
    const Settings& settings = job.settings();
    const std::uint64_t capacity = trace::parse_capacity("LAPWING_TRACE_EVENTS", settings.trace_events);
    if (settings.trace.empty()) return;
    if (runtime.fault_tolerant())
        return job.warn_once(fmt::format("no timeline: {}", name(Fallback::fault_tolerant)));
    if (open_trace(job, capacity, "timeline")) add_clock_metadata(locations, "begin");
}

// By all ranks together, which may have different variables. Open MPI's ULFM (mpiexec --with-ft ulfm): a rank
// may fail, and only the MPI can tell the others.
void agree_on_fault_tolerance(Job& job) {
#ifdef OPEN_MPI
    const auto* const enabled = static_cast<const bool*>(find_in_libraries("ompi_ftmpi_enabled"));
    if (enabled == nullptr) return;  // Open MPI 4, on all ranks
    if (std::ranges::count(job.exchange_values(std::uint8_t{*enabled}), 1) == 0) return;
    runtime.options.engine = "mpi";
    runtime.why_not = Fallback::fault_tolerant;
#else
    static_cast<void>(job);
#endif
}

// The variable that has started a progress thread of the MPI's own, with its value; empty: none.
std::string own_thread_of_mpi() {
    for (const char* own : {"MPIR_CVAR_ASYNC_PROGRESS", "MPICH_ASYNC_PROGRESS", "I_MPI_ASYNC_PROGRESS",
                            "OMPI_MCA_btl_tcp_progress_thread"}) {
        const char* const value = std::getenv(own);
        if (value != nullptr && std::strcmp(value, "0") != 0 && *value != '\0')
            return fmt::format("{}={}", own, value);
    }
    return "";
}

void start_network() {
    Job& job = *runtime.job;
    const Settings& settings = job.settings();
    runtime.locations = RankLocations(job, read_host_order(job));
    runtime.options.several_hosts = !runtime.locations.all_on_one_host();
    if (!settings.topology.empty() && runtime.locations.out_of_order()) {
        job.warn_once(fmt::format("the topology file '{}' names none of the job's hosts; rank 0 runs on {}",
                                  settings.topology, tcp::host_name()));
    }
    begin_tracing(job, runtime.locations);
    check_word("LAPWING_MESSAGES", settings.messages, {"auto", "on", "off"});
    runtime.learn([&](ProgressFacts& facts) {
        if (runtime.fault_tolerant()) facts.fault_tolerant = name(Fallback::fault_tolerant);
        facts.fills_one_host =
            runtime.locations.all_on_one_host() && !runtime.locations.has_spare_processors();
        facts.messages = settings.messages;
        facts.progress_thread = settings.progress_thread;
        facts.own_thread = own_thread_of_mpi();
    });
    runtime.loses_persistent_messages =
        mpi_version().starts_with("Intel(R) MPI") || mpi_version().starts_with("MPICH 5.");
    if (runtime.options.engine == "mpi") return;
    runtime.network = std::make_unique<JobNetwork>(job, runtime.options.engine, runtime.locations);
    runtime.options.engine = runtime.network->engine();
}

// After the network, whose endpoint it shares.
void start_watch() {
    Job& job = *runtime.job;
    watch::WatchOptions options;
    options.snapshot = snapshot_of_this_rank;
    options.stall = std::chrono::seconds(number_in("LAPWING_STALL", job.settings().stall, 0, 86400));
    options.print = [&job](const std::string& text) { job.warn(text); };
    options.version = LAPWING_VERSION;
    options.patience = tcp::read_options(job.settings()).patience;
    options.lost = [rank = job.rank()](const std::string& why) {
        end_job(fmt::format("rank {}: {}", rank, why), 1);
    };
    runtime.watch = std::make_unique<watch::JobWatch>(job, std::move(options));
}

}  // namespace

void end_start(const std::string& why) {
    // One message is enough when all ranks have the same.
    if (rank_in(MPI_COMM_WORLD) != 0) ::sleep(1);
    end_job(why, 2);
}

void start_job(bool collective) {
    const Settings settings = settings_of_job();
    read(settings);
    if (!collective) return;
    require_library_everywhere();
    runtime.job = std::make_unique<MpiJob>(settings, runtime.mode.threads || runtime.mode.why_never.empty());
    try {
        compare_settings(*runtime.job);
    } catch (const Error& error) {
        end_start(
            fmt::format("{}; pass the LAPWING_* variables to all hosts, as lapwing run does", error.what()));
    }
    compare_files(*runtime.job, runtime.options);
    agree_on_fault_tolerance(*runtime.job);
    if (runtime.job->rank() == 0 && runtime.report_target.form != "none")
        runtime.report_target.mark = begin_report(runtime.report_target.mark);
}

void connect_job() {
    start_network();
    if (!runtime.fault_tolerant()) start_watch();
}

void end_tracing() {
    if (!trace::on()) return;
    add_clock_metadata(runtime.locations, "end");
    const std::string trouble = runtime.job->agree(trace::close());
    if (!trouble.empty()) runtime.job->warn_once("a part of the trace is incomplete: " + trouble);
}

}  // namespace lapwing
