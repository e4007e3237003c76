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
#include "mpi/native/hook.hpp"
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

// What each rank tells the others first, all at once: an exchange takes as many steps as the tree of all
// ranks has levels, and in each of them some ranks of a full machine wait for a processor.
struct Introduction {
    std::uint64_t settings = 0;  // setting_fingerprint()
    topology::RankLocation location;
    watch::Member member;
    bool fault_tolerant = false;  // by variables that other ranks may not have
    bool lists_call_mpi = true;   // by the level that the program has asked for
};

// Open MPI's ULFM (mpiexec --with-ft ulfm): a rank may fail, and only the MPI can tell the others.
bool is_fault_tolerant() {
#ifdef OPEN_MPI
    const auto* const enabled = static_cast<const bool*>(find_in_libraries("ompi_ftmpi_enabled"));
    return enabled != nullptr && *enabled;  // null: Open MPI 4
#else
    return false;
#endif
}

// By all ranks of MPI_COMM_WORLD together, whose locations are known: begins to record if LAPWING_TRACE asks
// for it, and compares the clocks of the hosts.
void begin_tracing(Job& job, const RankLocations& locations) {
    const Settings& settings = job.settings();
    const std::uint64_t capacity = trace::parse_capacity("LAPWING_TRACE_EVENTS", settings.trace_events);
    if (settings.trace.empty()) return;
    if (runtime.fault_tolerant())
        return job.warn_once(fmt::format("no timeline: {}", name(Fallback::fault_tolerant)));
    runtime.job->communicator();  // before add_clock_metadata() makes one
    if (open_trace(job, capacity, "timeline")) add_clock_metadata(locations, "begin");
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
void start_watch(std::vector<watch::Member> members) {
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
    runtime.watch = std::make_unique<watch::JobWatch>(job, std::move(members), std::move(options));
}

}  // namespace

void end_start(const std::string& why) {
    // One message is enough when all ranks have the same.
    if (rank_in(MPI_COMM_WORLD) != 0) ::sleep(1);
    end_job(why, 2);
}

Settings read_job_settings() {
    Settings settings = settings_of_job();
    check_settings(settings);
    runtime.options = read_plan_options(settings, {"mpi"});
    check_word("LAPWING_BLOCKING", settings.blocking, {"off", "on"});
    runtime.takes_blocking = settings.blocking == "on";
    check_word("LAPWING_REPORT", settings.report, {"none", "text", "json"});
    runtime.report_target = {settings.report, settings.report_file, settings.report_mark};
    device::memory.enabled = takes_device_memory(settings);
    if (runtime.report_target.form != "none" || !settings.trace.empty()) runtime.measures = true;
    return settings;
}

std::vector<watch::Member> meet_ranks(const Settings& settings) {
    require_library_everywhere();
    const topology::HostOrder hosts = read_host_order(settings);
    runtime.job = std::make_unique<MpiJob>(settings, runtime.mode.threads || runtime.mode.why_never.empty());
    MpiJob& job = *runtime.job;
    std::vector<std::uint64_t> fingerprints;
    std::vector<topology::RankLocation> locations;
    std::vector<watch::Member> members;
    bool fault_tolerant = false;
    bool lists_call_mpi = true;
    for (const Introduction& one : job.exchange_values(
             Introduction{setting_fingerprint(settings), own_location(hosts), watch::own_member(),
                          is_fault_tolerant(), runtime.mode.lists_call_mpi})) {
        fingerprints.push_back(one.settings);
        locations.push_back(one.location);
        members.push_back(one.member);
        fault_tolerant = fault_tolerant || one.fault_tolerant;
        lists_call_mpi = lists_call_mpi && one.lists_call_mpi;
    }
    try {
        compare_settings(job, fingerprints);
    } catch (const Error& error) {
        end_start(
            fmt::format("{}; pass the LAPWING_* variables to all hosts, as lapwing run does", error.what()));
    }
    compare_files(job, runtime.options, hosts);
    runtime.locations = RankLocations(std::move(locations), job.rank());
    if (fault_tolerant) {
        remove_hook();
        runtime.options.engine = "mpi";
        runtime.why_not = Fallback::fault_tolerant;
    }
    runtime.learn([&](ProgressFacts& facts) {
        if (fault_tolerant) facts.hook = Hook::none;
        facts.others_stay_out = !lists_call_mpi;
    });
    if (!lists_call_mpi) job.keep_lists_off();
    if (job.rank() == 0 && runtime.report_target.form != "none")
        runtime.report_target.mark = begin_report(runtime.report_target.mark);
    return members;
}

void connect_job(std::vector<watch::Member> members) {
    start_network();
    if (!runtime.fault_tolerant()) start_watch(std::move(members));
    runtime.job->communicator();  // for the program's time, which begins now
}

void end_tracing() {
    if (!trace::on()) return;
    add_clock_metadata(runtime.locations, "end");
    const std::string trouble = runtime.job->agree(trace::close());
    if (!trouble.empty()) runtime.job->warn_once("a part of the trace is incomplete: " + trouble);
}

}  // namespace lapwing
