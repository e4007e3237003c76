#include "mpi/native/async_progress.hpp"

#include <linux/futex.h>
#include <mpi.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/clock.hpp"
#include "links/event/thread.hpp"
#include "links/mpi/own_communicator.hpp"
#include "mpi/native/gate.hpp"

namespace lapwing {
namespace {

using namespace std::chrono_literals;

// Polls in a row while they move data; then the program may enter.
constexpr int polls_in_a_row = 16;

}  // namespace

AsyncProgress& async_progress = *new AsyncProgress;

AsyncProgress::AsyncProgress() : stays_(nanoseconds, [] { return processor_time(async_progress.clock_); }) {}

namespace gate {

void Process::enter() {
    wait_until_open<Process>();
    if ((gate::attention.load(std::memory_order_relaxed) & observed) != 0) async_progress.returned();
}

void Process::leave(const void* site) {
    if ((gate::attention.load(std::memory_order_relaxed) & observed) != 0) async_progress.left(site);
}

bool knows_all() {
#if !defined(__x86_64__) && !defined(__aarch64__)  // see gated_functions.hpp
    constexpr std::pair known{0, 0};
#elif defined(OPEN_MPI) || MPI_VERSION > 4
    constexpr std::pair known{MPI_VERSION, MPI_SUBVERSION};
#else
    constexpr std::pair known{5, 0};
#endif
    std::pair<int, int> version;
    PMPI_Get_version(&version.first, &version.second);
    return version <= known;
}

}  // namespace gate

void AsyncProgress::start(const ThreadDuties& duties, int (*advance_lists)(),
                          const std::vector<int>& processors) {
    duties_ = duties;
    advance_lists_ = advance_lists;
    serves_messages_ = duties.messages;
    left_ = false;
    floating_point_.capture();
    process_ = ::getpid();
    thread_ = start_thread([this] { work(); });
    ::pthread_getcpuclockid(thread_.native_handle(), &clock_);
    place_thread(thread_, processors);
    // A program may exit without MPI_Finalize, and the MPI's libraries end then. A child of fork() has no
    // such thread.
    static const bool once [[maybe_unused]] = [] {
        // Inside a call, the thread is kept out, or waits for a lock of the MPI's.
        std::atexit([] {
            if (!InMpi::any()) async_progress.stop();
        });
        ::pthread_atfork(nullptr, nullptr, [] { gate::attention = 0; });
        return true;
    }();
}

void AsyncProgress::stop() {
    if (!thread_.joinable() || ::getpid() != process_) return;
    ending_ = true;
    wake();
    thread_.join();
    ending_ = false;
    leave_messages();
    duties_ = {};
}

bool AsyncProgress::leave_messages() {
    left_ = true;
    const bool served = serves_messages_.exchange(false);
    observe();
    return served;
}

void AsyncProgress::wake() {
    wakes_.fetch_add(1);
    if (asleep_.load()) ::syscall(SYS_futex, &wakes_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

// Returns at a wake() since `seen` was read, or after `limit`; negative: no limit. Only what is urgent wakes
// the thread from a pause.
void AsyncProgress::sleep(std::uint32_t seen, std::chrono::nanoseconds limit) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(limit);
    const timespec time{seconds.count(), (limit - seconds).count()};
    asleep_.store(true);
    ::syscall(SYS_futex, &wakes_, FUTEX_WAIT_PRIVATE, seen, limit < 0ns ? nullptr : &time, nullptr, 0);
    asleep_.store(false);
}

void AsyncProgress::help() {
    asked_.store(true, std::memory_order_relaxed);
    wake();
}

void AsyncProgress::list_started() {
    if (!duties_.polls_lists) return;
    poll_pace_.began(0);
    // A thread that has not seen the last start yet, or polls soon, sees this one as well.
    if (lists_begun_.fetch_add(1) == 0 && !polls_soon_) wake();
}

void AsyncProgress::observe() {
    gate::observe([this] { return serves_messages_ && request_book.moving() + windows_ > 0; });
}

void AsyncProgress::left(const void* site) {
    floating_point_.capture();
    const void* const place = call_sites_.in_program(site, __builtin_frame_address(0));
    const bool stays = stays_.left(place, request_book.moving(), bytes_.load(std::memory_order_relaxed));
    if (poll_pace_.wakes(pauses_.load(std::memory_order_relaxed), stays, stays_.pace())) wake();
}

void AsyncProgress::returned() {
    floating_point_.raise();
    stays_.returned();
}

void AsyncProgress::work() {
    take_short_slices();
    ::prctl(PR_SET_TIMERSLACK, 1000);
    // What the MPI calls inside its own functions, in this thread, goes on to the MPI.
    watch::ThreadRecord& record = watch::Journal::of_thread();
    record.depth.store(1, std::memory_order_relaxed);
    own_record_ = &record;
    while (!ending_) {
        const std::uint32_t seen = wakes_;
        serve();
        count_.thread_time = processor_time();
        if (!ending_) sleep(seen, -1ns);
    }
    own_record_ = nullptr;
}

// Until there is nothing to do for this thread.
void AsyncProgress::serve() {
    poll_pace_.woken();
    while (!ending_) {
        while (!ending_ && asked_.exchange(false)) {
            // Stays awake while the MPI asks at least once per pause.
            advance_lists_();
            std::this_thread::sleep_for(20us);
        }
        const std::uint32_t seen = wakes_;
        const bool serves = serves_messages();
        const Count& lists = duties_.completes_lists ? request_book.lists() : request_book.running_lists();
        const PollPace::Work work{.messages = serves && request_book.moving() > 0,
                                  .bytes = bytes_.load(std::memory_order_relaxed),
                                  .pace = stays_.pace(),
                                  .windows = serves && windows_ > 0,
                                  .lists = duties_.polls_lists && lists > 0,
                                  .lists_begun = lists_begun_.exchange(0),
                                  .lists_always = !duties_.lists_in_polls};
        const bool idle = !work.lists && !work.messages && !work.windows;
        // A program that starts short lists in a row does not wake this thread for each.
        if (idle && work.lists_begun == 0) return;
        if (asked_) continue;
        const std::uint64_t before = processor_time();
        const std::chrono::nanoseconds pause = poll_pace_.next_pause(work);
        pauses_.store(true, std::memory_order_relaxed);
        polls_soon_ = (work.lists || work.lists_begun > 0) && pause <= PollPace::longest_pause_of_lists;
        sleep(seen, pause);
        polls_soon_ = false;
        pauses_.store(false, std::memory_order_relaxed);
        if (wakes_ != seen) poll_pace_.woken();
        Polled polled = idle ? Polled::nothing : Polled::kept_out;
        if (work.lists && work.lists_always) {
            const std::uint64_t began = processor_time();
            const bool completed = advance_lists_() > 0;
            const bool moves = meter_of_lists_.moves(processor_time() - began, pause);
            polled = completed || moves ? Polled::moved : Polled::nothing;
        }
        const bool lists_in_poll = work.lists && !work.lists_always;
        if (work.messages || work.windows || lists_in_poll)
            polled = std::max(polled, poll(lists_in_poll, pause));
        poll_pace_.polled(polled, work, static_cast<std::int64_t>(processor_time() - before));
    }
}

Polled AsyncProgress::poll(bool with_lists, std::chrono::nanoseconds pause) {
    if (left_ || !gate::try_close()) return Polled::kept_out;
    polls_ = true;
    Polled polled = Polled::nothing;
    for (int i = 0; i < polls_in_a_row && !left_; ++i) {
        const std::uint64_t began = processor_time();
        const bool completed = with_lists && advance_lists_() > 0;
        ProgramFloatingPoint::compute(&floating_point_, progress_mpi);
        ++count_.polls;
        if (!meter_.moves(processor_time() - began, i == 0 ? pause : 0ns) && !completed) break;
        polled = Polled::moved;
        ++count_.moving_polls;
        if (gate::is_wanted()) break;
    }
    polls_ = false;
    gate::open();
    return polled;
}

}  // namespace lapwing
