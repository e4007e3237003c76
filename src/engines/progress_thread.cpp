#include "engines/progress_thread.hpp"

#include <unistd.h>

#include <array>
#include <utility>

#include "base/error.hpp"
#include "links/event/thread.hpp"

namespace lapwing {
namespace {

using namespace std::chrono_literals;

// Polls without progress before the thread sleeps between polls.
constexpr int max_polls_without_progress = 3;
constexpr std::chrono::nanoseconds no_limit = -1ns;
// How long the thread stays parked after a thread of the program has polled, unless it is rung. A program
// that soon polls again finds the processor free. The longer the program goes on, the longer the thread
// parks.
constexpr std::chrono::nanoseconds shortest_parking = 200us;
constexpr std::chrono::nanoseconds longest_parking = 1ms;

}  // namespace

ProgressThread::ProgressThread(shm::ShmNode* node, Fabric* fabric, const WakePipe* pipe,
                               const std::vector<int>& processors, Start start)
    : node_(node),
      fabric_(fabric),
      pipe_(pipe),
      process_(::getpid()),
      processors_(processors),
      start_(start),
      parking_(shortest_parking) {
    if (!serves_all()) return;
    if (node_ != nullptr) node_->share();
    begin();
}

void ProgressThread::ensure_started() {
    if (started()) return;
    node_->share_late();
    begin();
}

void ProgressThread::begin() {
    thread_ = start_thread([this] {
        take_short_slices();
        run();
    });
    try {
        place_thread(thread_, processors_);
    } catch (...) {
        end();
        throw;
    }
    started_.store(true, std::memory_order_release);
}

ProgressThread::~ProgressThread() {
    if (!started()) return;
    // A child of fork() does not have the thread.
    if (process_ != ::getpid()) {
        thread_.detach();
        return;
    }
    end();
}

void ProgressThread::end() {
    Lock lock(mutex_);
    ending_ = true;
    update_demand(std::move(lock));
    ring();
    thread_.join();
}

void ProgressThread::add(Work& work) {
    const Lock lock(mutex_);
    work.owned_.store(true, std::memory_order_relaxed);
    work.complete_ = false;
    work.wake_ups_ = 0;
    work.index_ = works_.size();
    works_.push_back(&work);
    if (!work.short_) ++open_long_;
    // A program that starts a short run probably waits for it soon.
    if (work.short_) program_was_here_.store(true, std::memory_order_relaxed);
    if (open_++ > 0) return;
    // No other run is in flight, so the completions up to now concern no run.
    if (node_ != nullptr) node_->forget_completed();
    if (fabric_ != nullptr) fabric_->forget_completed();
}

void ProgressThread::count_complete(const Work& work) {
    --open_;
    if (!work.short_) --open_long_;
}

void ProgressThread::release(Work& work, bool can_advance) {
    if (can_advance) can_advance_.store(true, std::memory_order_relaxed);
    work.owned_.store(false, std::memory_order_release);
    if (!advances(demand_.load(std::memory_order_acquire))) return update_demand(Lock(mutex_));
    ring_for_unseen_progress();
}

void ProgressThread::remove(Work& work) {
    Lock lock(mutex_);
    if (!work.complete_) count_complete(work);
    works_[work.index_] = works_.back();
    works_[work.index_]->index_ = work.index_;
    works_.pop_back();
    const bool unchanged = open_ > 0 && advances(demand_.load(std::memory_order_acquire));
    if (!unchanged) return update_demand(std::move(lock));
    lock.unlock();
    ring_for_unseen_progress();
}

bool ProgressThread::has_unseen_progress() {
    return can_advance_.load(std::memory_order_acquire) || (node_ != nullptr && node_->has_events()) ||
           (fabric_ != nullptr && fabric_->has_events());
}

// A parked thread comes by itself, or is rung for what is urgent.
void ProgressThread::ring_for_unseen_progress() {
    if (!parked_.load(std::memory_order_seq_cst) && has_unseen_progress()) ring();
}

void ProgressThread::ring() {
    if (node_ != nullptr) return node_->ring_here();
    WakePipe::wake(pipe_->writer());
}

void ProgressThread::suspend() {
    Lock lock(mutex_);
    ++suspenders_;
    program_was_here_.store(true, std::memory_order_relaxed);
    update_demand(std::move(lock));
}

void ProgressThread::resume() {
    Lock lock(mutex_);
    --suspenders_;
    update_demand(std::move(lock));
}

bool ProgressThread::sleep(std::chrono::nanoseconds limit) {
    Lock lock(mutex_);
    // The thread may have completed a run since the caller's last test.
    if (fabric_ != nullptr && std::exchange(completed_, false)) return true;
    const std::uint64_t seen = polls_;
    ++sleepers_;
    update_demand(std::move(lock));
    lock = Lock(mutex_);
    const bool polled = polled_.wait_for(lock, limit, [&] { return polls_ != seen; });
    --sleepers_;
    program_was_here_.store(true, std::memory_order_relaxed);
    update_demand(std::move(lock));
    return polled;
}

bool ProgressThread::has_work() {
    const Lock lock(mutex_);
    return open_ > 0;
}

// After a change of the counts. Wakes the thread if it must poll now.
void ProgressThread::update_demand(Lock lock) {
    const Demand demand = ending_           ? Demand::ending
                          : sleepers_ > 0   ? Demand::urgent
                          : suspenders_ > 0 ? Demand::suspended
                          : open_ == 0      ? Demand::idle
                          : open_long_ == 0 ? Demand::short_lists
                                            : Demand::urgent;
    const bool advanced = advances(demand_.exchange(demand, std::memory_order_seq_cst));
    const bool advances_now = advances(demand);
    if (node_ != nullptr && advances_now != advanced) node_->let_ring(advances_now);
    lock.unlock();
    // A parked thread does not see the fabric's completions.
    if (demand == Demand::urgent && parked_.load(std::memory_order_seq_cst)) return ring();
    // Progress before let_ring() did not ring.
    if (advances_now && !advanced) ring_for_unseen_progress();
}

// A thread of the program that waits for one short collective after the other polls by itself. Polls of the
// progress thread between two of its waits would only delay it.
bool ProgressThread::must_poll() const {
    const Demand demand = demand_.load(std::memory_order_seq_cst);
    if (fabric_ == nullptr) return advances(demand);
    return demand == Demand::urgent || (demand != Demand::suspended && !program_is_here_);
}

void ProgressThread::run() {
    int polls_without_progress = 0;
    bool woken = false;
    for (;;) {
        const std::uint32_t rings = node_ != nullptr ? node_->rings() : 0;
        if (demand_.load(std::memory_order_acquire) == Demand::ending) return;
        program_is_here_ = program_was_here_.exchange(false, std::memory_order_relaxed);
        std::chrono::nanoseconds limit = no_limit;
        // Asked once: a thread that has not polled must not sleep as one that has.
        const bool polls = must_poll();
        if (polls) {
            // A lane of shared memory does not ring when it has room again, and neither does a thread of the
            // program that releases a run. So the thread polls again soon.
            if (!poll(std::exchange(woken, false))) {
                polls_without_progress = 0;
                retries_.restart();
            } else if (++polls_without_progress <= max_polls_without_progress) {
                continue;
            } else {
                limit = retries_.next(WaitStrategy::max_sleep);
            }
        }
        if (fabric_ != nullptr) {
            woken = polls ? sleep_at_fabric(limit) : park();
        } else {
            node_->sleep_since(rings, limit);
            woken = node_->rings() != rings;
        }
        if (!woken) continue;
        polls_without_progress = 0;
        retries_.restart();
    }
}

// Advances all runs as far as possible. Returns true if the thread must poll again soon.
bool ProgressThread::poll(bool woken) {
    bool again = false;
    const bool can_advance = can_advance_.exchange(false, std::memory_order_acquire);
    try {
        // First, so that the messages that a start has gathered for a peer leave together with those that
        // follow them.
        if (can_advance) again = advance_works(std::exchange(woken, false));
        if (node_ != nullptr && advances(demand_.load(std::memory_order_acquire))) node_->move_all();
        bool progressed = fabric_ != nullptr;
        do {
            if (fabric_ != nullptr) {
                fabric_->forget_completed();
                progressed = fabric_->progress();
            }
            again = advance_works(std::exchange(woken, false));
        } while (progressed);
        again = has_unseen_progress() || again;
    } catch (const Error&) {
        // The link is broken. The tests of each run report the error.
        advance_works(woken);
    }
    const Lock lock(mutex_);
    if (fabric_ != nullptr && (sleepers_ == 0 || !std::exchange(completed_, false))) return again;
    ++polls_;
    if (sleepers_ > 0) polled_.notify_all();
    return again;
}

// Returns true if the thread was woken before `limit` passed.
bool ProgressThread::sleep_at_fabric(std::chrono::nanoseconds limit) {
    if (!fabric_->prepare_to_sleep()) return false;
    const std::chrono::nanoseconds longest = fabric_->max_sleep();
    if (longest >= 0ns && (limit < 0ns || longest < limit)) limit = longest;
    return sleep_at_pipe(fabric_->descriptor(), limit);
}

// Returns true if the thread was rung.
bool ProgressThread::park() {
    // update_demand() stores the demand and then reads parked_.
    parked_.store(true, std::memory_order_seq_cst);
    if (!program_is_here_) parking_.restart();
    const bool rung = !must_poll() && sleep_at_pipe(-1, parking_.next(longest_parking));
    parked_.store(false, std::memory_order_relaxed);
    return rung;
}

// The pipe stays readable from a ring until drain(), so no ring is lost.
bool ProgressThread::sleep_at_pipe(int descriptor, std::chrono::nanoseconds limit) {
    const std::array descriptors = {pipe_->descriptor(), descriptor};
    const bool woken = sleep_at(descriptors, limit) == trace::WakeUp::descriptor;
    pipe_->drain();
    return woken;
}

// Returns true if another thread owned one of the runs.
bool ProgressThread::advance_works(bool woken) {
    bool missed = false;
    Lock lock(mutex_);
    // From the end, because remove() puts the last run in the place of the removed one.
    for (std::size_t i = works_.size(); i-- > 0;) {
        if (i >= works_.size()) continue;
        Work& work = *works_[i];
        if (work.complete_) continue;
        if (work.owned_.exchange(true, std::memory_order_acquire)) {
            missed = true;
            continue;
        }
        lock.unlock();
        if (woken) ++work.wake_ups_;
        const Work::Outcome outcome = work.advance();
        lock.lock();
        if (outcome != Work::Outcome::pending) completed_ = true;
        if (outcome == Work::Outcome::complete) {
            work.complete_ = true;
            count_complete(work);
        }
        work.owned_.store(false, std::memory_order_release);
    }
    const bool all_complete = open_ == 0;
    if (all_complete) update_demand(std::move(lock));
    return missed && !all_complete;
}

}  // namespace lapwing
