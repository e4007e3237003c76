// The first call and the last one.
#include "mpi/calls/init.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <mutex>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/floating_point.hpp"
#include "base/messages.hpp"
#include "base/values.hpp"
#include "job/rank_locations.hpp"
#include "links/mpi/own_communicator.hpp"
#include "mpi/calls/exported.hpp"
#include "mpi/job/recording.hpp"
#include "mpi/job/start.hpp"
#include "mpi/native/async_progress.hpp"
#include "mpi/native/callers.hpp"
#include "mpi/native/entry.hpp"
#include "mpi/native/gate.hpp"
#include "mpi/native/hook.hpp"
#include "mpi/native/launcher.hpp"
#include "mpi/requests/communicator.hpp"
#include "mpi/requests/request_table.hpp"
#include "mpi/requests/start.hpp"

namespace lapwing {
namespace {

std::mutex start_mutex;

// By ThreadLevel, in ascending order.
constexpr int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE};

ThreadLevel level_of(int level) {
    const auto above = std::ranges::upper_bound(levels, level) - std::begin(levels);
    return static_cast<ThreadLevel>(above - 1);
}

// Nothing in MPI_Finalize waits longer for what another rank may never do.
constexpr std::uint64_t patience = 5'000'000'000;

void finish_groups(std::uint64_t limit) {
    const std::uint64_t end = nanoseconds() + limit;
    int unfinished = 0;
    free_all_communicators([&](Communicator& group) {
        const std::uint64_t now = nanoseconds();
        if (!finish_group(group, end > now ? end - now : 0)) ++unfinished;
    });
    if (unfinished > 0 && limit > 0) {
        print_message(
            "lapwing: MPI_Finalize was called before all ranks of {} had begun their first collective\n",
            counted(unfinished, "communicator"));
    }
}

// MPI_COMM_SELF's attributes are deleted first of all in MPI_Finalize, whichever way the program enters it.
int finalize(MPI_Comm, int, void*, void*) {
    const DefaultFloatingPoint default_floating_point;
    const bool drained = request_table.drain(patience);
    // This waits for all ranks inside the MPI: not while a peer may need one of this rank's lists.
    if (runtime.watch != nullptr) compare_calls_at_end(*runtime.job);
    remove_hook();
    async_progress.stop();
    end_tracing();
    report_job();
    finish_groups(drained ? patience : 0);
    if (runtime.network != nullptr) runtime.network->leave();
    runtime.network.reset();
    if (runtime.job != nullptr) {
        runtime.job->receive_rest();
        if (runtime.why_not != Fallback::late && flush_native()) runtime.job->leave_together([] {});
    }
    // Last of all that waits for other ranks: it notices those that are silent, and ends the job.
    runtime.watch.reset();
    runtime.job.reset();
    free_own_communicator();
    runtime.takes_calls = false;
    return MPI_SUCCESS;
}

void start_async_progress() {
    const bool over_mpi =
        runtime.takes_calls && runtime.network->needs_links_of_job() && runtime.network->may_have_thread();
    const ThreadDuties duties = runtime.mode.duties(over_mpi);
    gate::stays_open = !duties.closes_gate;
    if (duties.runs)
        async_progress.start(duties, try_progress, read_progress_choice(runtime.job->settings()).processors);
}

void connect(const Settings& settings) {
    if (runtime.options.engine != "mpi") {
        const Hook hook = install_hook(progress_of_all, runtime.mode.threads);
        runtime.learn([hook](ProgressFacts& facts) { facts.hook = hook; });
        runtime.why_not = Fallback::no_hook;
    }
    std::vector<watch::Member> members = meet_ranks(settings);
    connect_job(std::move(members));
    runtime.takes_calls = runtime.mode.hook != Hook::none;
    agree_early(MPI_COMM_WORLD);
    start_async_progress();
}

}  // namespace

bool start_runtime(bool collective) {
    const std::lock_guard lock(start_mutex);
    if (runtime.started) return runtime.takes_calls;
    const DefaultFloatingPoint default_floating_point;
    int initialized = 0;
    int finalized = 0;
    PMPI_Initialized(&initialized);
    PMPI_Finalized(&finalized);
    // A program of sessions only has no MPI_COMM_WORLD to report over: it is left alone.
    if (!initialized || finalized) return false;
    poll_sockets(true);
    int provided = MPI_THREAD_SINGLE;
    PMPI_Query_thread(&provided);
    runtime.learn([level = level_of(provided)](ProgressFacts& facts) {
        facts.level = level;
        facts.gate_is_complete = gate::knows_all();
        facts.has_membarrier = level < ThreadLevel::serialized || gate::can_close();
    });
    make_own_communicator();
    begin_recording();
    try {
        const Settings settings = read_job_settings();
        if (collective) connect(settings);
    } catch (const Error& error) {
        end_start(error.what());
    }
    if (!collective) runtime.why_not = Fallback::late;
    int keyval = MPI_KEYVAL_INVALID;
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, finalize, &keyval, nullptr);
    PMPI_Comm_set_attr(MPI_COMM_SELF, keyval, nullptr);
    PMPI_Comm_free_keyval(&keyval);
    poll_sockets(false);
    runtime.started.store(true, std::memory_order_release);
    return runtime.takes_calls;
}

namespace {

// Whether the launcher has put all ranks on this host, without spare processors: no thread of Lapwing will
// enter the MPI unless LAPWING_MESSAGES=on. False where the launcher does not say.
bool fills_one_host() {
#ifdef OPEN_MPI
    const char* const here = std::getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
    const char* const all = std::getenv("OMPI_COMM_WORLD_SIZE");
#else
    const char* const here = std::getenv("MPI_LOCALNRANKS");
    const char* const all = std::getenv("PMI_SIZE");
#endif
    return here != nullptr && all != nullptr && std::strcmp(here, all) == 0 &&
           !has_spare_processors(std::atol(here));
}

// The level that Lapwing asks the MPI for, where the program asks for `wanted`.
int thread_level(int wanted) {
    const auto value = [](const char* variable) {
        const char* const set = std::getenv(variable);
        return std::string(set != nullptr ? set : "");
    };
    const bool by_mpi = value("LAPWING_NETWORK") == "mpi";
    const LevelFacts facts{.wanted = level_of(wanted),
                           .lists_enter = by_mpi && value("LAPWING_ENGINE") != "mpi",
                           .offers_hook = !by_mpi || offers_a_hook(),
                           .fills_one_host = fills_one_host(),
                           .messages = value("LAPWING_MESSAGES"),
                           .progress_thread = value("LAPWING_PROGRESS_THREAD")};
    const ThreadLevel level = level_to_ask(facts);
    return level == facts.wanted ? wanted : levels[static_cast<std::size_t>(level)];
}

// The level that the program has asked for, if the MPI was asked for more: the program is told what it would
// have without Lapwing.
std::atomic<int> told{-1};

void before_start() {
    reserve_standard_descriptors();
    bind_fortran();
    announce_rank();
    gate::register_single_thread();
    // The program's collectives leave the MPI's connections idle. While a link is down, TCP's keep-alive,
    // which UCX switches on, would end these, but not connections with data under way.
    ::setenv("UCX_TCP_KEEPIDLE", "inf", 0);
}

int start_mpi(int* argc, char*** argv, int wanted, int* provided) {
    const int level = thread_level(wanted);
    const int error = NEXT_Init_thread(argc, argv, level, provided);
    if (error != MPI_SUCCESS) return error;
    if (level > wanted) {
        told = std::min(wanted, *provided);
        *provided = told;
    }
    start_runtime(true);
    return MPI_SUCCESS;
}

}  // namespace
}  // namespace lapwing

using namespace lapwing;

LAPWING_MPI MPI_Init(int* argc, char*** argv) {
    const InMpi in_mpi(__builtin_return_address(0));
    before_start();
    // The user has set the level that MPI_Init gives.
    const bool set = std::getenv("OMPI_MPI_THREAD_LEVEL") != nullptr ||
                     std::getenv("MPIR_CVAR_DEFAULT_THREAD_LEVEL") != nullptr;
    int provided = MPI_THREAD_SINGLE;
    if (!set && thread_level(MPI_THREAD_SINGLE) != MPI_THREAD_SINGLE)
        return start_mpi(argc, argv, MPI_THREAD_SINGLE, &provided);
    const int error = NEXT_Init(argc, argv);
    if (error == MPI_SUCCESS) start_runtime(true);
    return error;
}

LAPWING_MPI MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
    const InMpi in_mpi(__builtin_return_address(0));
    before_start();
    if (provided == nullptr) return NEXT_Init_thread(argc, argv, required, provided);
    return start_mpi(argc, argv, required, provided);
}

// MPICH takes no more locks in it, whatever the level of threads.
LAPWING_MPI MPI_Finalize() {
    async_progress.stop();
    const InRecordedMpi in_mpi("MPI_Finalize", __builtin_return_address(0));
    return NEXT_Finalize();
}

// Any thread may call it at any time.
LAPWING_MPI MPI_Query_thread(int* provided) {
    const int error = NEXT_Query_thread(provided);
    if (error == MPI_SUCCESS && told >= 0) *provided = told;
    return error;
}
