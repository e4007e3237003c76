#include "mpi/native/async_progress.hpp"

#include <linux/futex.h>
#include <mpi.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <utility>

#include "base/clock.hpp"
#include "links/event/thread.hpp"
#include "links/mpi/mpi_progress.hpp"
#include "mpi/native/gate.hpp"
#include "watch/journal.hpp"

namespace lapwing {
namespace {

using namespace std::chrono_literals;

// A program on the same processor becomes later by so many times the thread's processor time: by switches and
// cold caches, too.
constexpr std::uint64_t disturbance = 2;
constexpr std::uint32_t episodes_between_trials = 64;
constexpr std::uint32_t most_episodes_between_trials = 4096;
// The program must stay outside the MPI for so long.
constexpr std::uint64_t worth_nanoseconds = 200'000;
// Polls in a row while they move data; then the program may enter.
constexpr int polls_in_a_row = 16;
constexpr std::int8_t highest_score = 4;
constexpr std::int8_t lowest_score = -3;
constexpr std::uint8_t calls_per_sample = 16;

}  // namespace

AsyncProgress& async_progress = *new AsyncProgress;

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

void AsyncProgress::start(const Duties& duties, const std::vector<int>& processors) {
    duties_ = duties;
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
    wake();
}

void AsyncProgress::add(std::atomic<int>& count, int difference) {
    const int before = count.fetch_add(difference);
    if (&count == &messages_ && before + difference == 0) end_episode();
    if (before == 0 || before + difference == 0) observe();
}

AsyncProgress::Pace AsyncProgress::choose_pace(const Transfer& transfer) {
    const std::uint32_t number = transfer.episodes.load(std::memory_order_relaxed);
    if (number < transfer.next_trial.load(std::memory_order_relaxed)) return fast;
    // The fast pace is measured again now and then.
    return number % episodes_between_trials == 0 ? fast : slow;
}

void AsyncProgress::begin_episode(Transfer& transfer) {
    pace_.store(choose_pace(transfer), std::memory_order_relaxed);
    in_calls_.begin();
    spent_before_.store(processor_time(clock_), std::memory_order_relaxed);
    episode_.store(&transfer, std::memory_order_relaxed);
}

void AsyncProgress::end_episode() {
    Transfer* const transfer = episode_.exchange(nullptr, std::memory_order_relaxed);
    if (transfer == nullptr || !in_calls_.counts()) return;
    in_calls_.leave(nanoseconds);
    const std::uint64_t spent = processor_time(clock_) - spent_before_.load(std::memory_order_relaxed);
    std::uint64_t cost = in_calls_.time() + disturbance * spent;
    const std::uint32_t number = transfer->episodes.fetch_add(1, std::memory_order_relaxed);
    if (number == 0) return;  // connections were made
    const bool at_fast_pace = pace_.load(std::memory_order_relaxed) == fast;
    auto& mean = at_fast_pace ? transfer->fast_cost : transfer->slow_cost;
    if (const std::uint64_t usual = mean.load(std::memory_order_relaxed); usual != 0) {
        // A late rank must not count for long.
        cost = (3 * usual + std::min(cost, 2 * usual)) / 4;
    }
    mean.store(cost, std::memory_order_relaxed);
    if (at_fast_pace) return;
    if (cost <= transfer->fast_cost.load(std::memory_order_relaxed))
        return transfer->dear.store(0, std::memory_order_relaxed);
    // Two dear episodes are enough: what the slow pace costs here depends on the other ranks' paces, too, and
    // all ranks could settle for the worse.
    if (transfer->dear.fetch_add(1, std::memory_order_relaxed) == 0) return;
    transfer->dear.store(0, std::memory_order_relaxed);
    transfer->slow_cost.store(0, std::memory_order_relaxed);
    const std::uint32_t pause = transfer->pause_of_trials.load(std::memory_order_relaxed);
    transfer->next_trial.store(number + pause, std::memory_order_relaxed);
    transfer->pause_of_trials.store(std::min(2 * pause, most_episodes_between_trials),
                                    std::memory_order_relaxed);
}

void AsyncProgress::observe() {
    gate::observe([this] { return serves_messages_ && messages_ + windows_ > 0; });
}

void AsyncProgress::left(const void* site) {
    floating_point_.capture();
    in_calls_.leave(nanoseconds);
    // A loop over neighbours starts all its messages at one place: only after the last one the program stays
    // away.
    const auto pending = static_cast<std::uintptr_t>(messages_.load(std::memory_order_relaxed));
    const void* const from_program = call_sites_.in_program(site, __builtin_frame_address(0));
    const std::uintptr_t place = reinterpret_cast<std::uintptr_t>(from_program) + pending;
    Site& from = sites_.find(place);
    // The program mostly comes back at once, and a look at the clock costs as much as a small message. If it
    // stays away this time, its messages still move, at the slow pace, and its windows are served.
    if (from.score.load(std::memory_order_relaxed) <= 0) {
        if (poll_pace_.wakes(pauses_.load(std::memory_order_relaxed), false, false)) {
            if (episode_.load(std::memory_order_relaxed) == nullptr)
                pace_.store(slow, std::memory_order_relaxed);
            wake();
        }
        const auto skipped = static_cast<std::uint8_t>(from.skipped.load(std::memory_order_relaxed) + 1);
        from.skipped.store(skipped, std::memory_order_relaxed);
        if (skipped % calls_per_sample != 0) return;
    }
    left_from_.store(&from, std::memory_order_relaxed);
    left_at_.store(nanoseconds(), std::memory_order_release);
    if (from.score.load(std::memory_order_relaxed) <= 0) return;
    if (pending > 0 && episode_.load(std::memory_order_relaxed) == nullptr)
        begin_episode(transfers_.find(64 * place + static_cast<unsigned>(std::bit_width(bytes_.load()))));
    if (poll_pace_.wakes(pauses_.load(std::memory_order_relaxed), true,
                         pace_.load(std::memory_order_relaxed) == slow))
        wake();
}

void AsyncProgress::returned() {
    floating_point_.raise();
    // Another thread may have left.
    const std::uint64_t since = left_at_.load(std::memory_order_acquire);
    const bool in_episode = episode_.load(std::memory_order_relaxed) != nullptr;
    if (since == 0 && !(in_episode && in_calls_.counts())) return;
    const std::uint64_t now = nanoseconds();
    const std::uint64_t away = since == 0 ? 0 : now - since;
    if (in_episode) in_calls_.enter(now, away >= worth_nanoseconds);
    if (since == 0) return;
    left_at_.store(0, std::memory_order_relaxed);
    observed_.fetch_add(away, std::memory_order_relaxed);
    Site* const from = left_from_.load(std::memory_order_relaxed);
    const std::int8_t score = from->score.load(std::memory_order_relaxed);
    // A wake-up in vain costs much less than a message that does not move.
    const int gain = away < worth_nanoseconds ? -1 : 2;
    from->score.store(static_cast<std::int8_t>(std::clamp<int>(score + gain, lowest_score, highest_score)),
                      std::memory_order_relaxed);
}

AsyncProgress::Statistics AsyncProgress::statistics() const {
    return {all_messages_.load(std::memory_order_relaxed), all_bytes_.load(std::memory_order_relaxed),
            polls_.load(std::memory_order_relaxed),        moving_.load(std::memory_order_relaxed),
            spent_.load(std::memory_order_relaxed),        observed_.load(std::memory_order_relaxed)};
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
        spent_.store(processor_time(), std::memory_order_relaxed);
        if (!ending_) sleep(seen, -1ns);
    }
    own_record_ = nullptr;
}

// What this thread has to advance.
PollPace::Work AsyncProgress::work_in_flight() const {
    const bool serves = serves_messages();
    return {.messages = serves && messages_ > 0,
            .bytes = bytes_.load(std::memory_order_relaxed),
            .windows = serves && windows_ > 0,
            .lists = duties_.polls_lists && *duties_.lists > 0,
            .lists_always = !duties_.lists_in_polls,
            .slow = serves && messages_ > 0 && pace_.load(std::memory_order_relaxed) == slow,
            .in_episode = episode_.load(std::memory_order_relaxed) != nullptr};
}

// Until there is nothing to do for this thread.
void AsyncProgress::serve() {
    poll_pace_.begin();
    while (!ending_) {
        while (!ending_ && asked_.exchange(false)) {
            // Stays awake while the MPI asks at least once per pause.
            duties_.advance_lists();
            std::this_thread::sleep_for(20us);
        }
        const PollPace::Work work = work_in_flight();
        if (!work.lists && !work.messages && !work.windows) return;
        const std::uint32_t seen = wakes_;
        if (asked_) continue;
        const std::uint64_t before = processor_time();
        pauses_.store(true, std::memory_order_relaxed);
        sleep(seen, poll_pace_.next_pause(work));
        pauses_.store(false, std::memory_order_relaxed);
        if (wakes_ != seen) poll_pace_.woken();
        Polled polled = Polled::kept_out;
        if (work.lists && work.lists_always) {
            const std::uint64_t began = processor_time();
            duties_.advance_lists();
            polled = meter_of_lists_.moves(processor_time() - began) ? Polled::moved : Polled::nothing;
        }
        if (work.messages || work.windows || !work.lists_always)
            polled = std::max(polled, poll(work.lists && !work.lists_always));
        poll_pace_.polled(polled, work, static_cast<std::int64_t>(processor_time() - before));
    }
}

Polled AsyncProgress::poll(bool with_lists) {
    if (left_ || !gate::try_close(!duties_.any_time)) return Polled::kept_out;
    Polled polled = Polled::nothing;
    for (int i = 0; i < polls_in_a_row; ++i) {
        const std::uint64_t began = processor_time();
        if (with_lists) duties_.advance_lists();
        ProgramFloatingPoint::compute(&floating_point_, progress_mpi);
        polls_.fetch_add(1, std::memory_order_relaxed);
        if (!meter_.moves(processor_time() - began)) break;
        polled = Polled::moved;
        moving_.fetch_add(1, std::memory_order_relaxed);
        if (gate::is_wanted()) break;
    }
    if (!duties_.any_time) gate::open();
    return polled;
}

}  // namespace lapwing
