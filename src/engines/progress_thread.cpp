#include "engines/progress_thread.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/error.hpp"
#include "links/event/thread.hpp"

namespace lapwing {
namespace {

using namespace std::chrono_literals;

// So often it looks again at once at what does not move; then it sleeps in between.
constexpr int max_vain_rounds = 3;
constexpr std::chrono::nanoseconds shortest_sleep = 50us;
constexpr std::chrono::nanoseconds longest_sleep = 1ms;
constexpr std::chrono::nanoseconds no_limit = -1ns;
// So long it stays parked after a thread of the program has waited, unless it is rung: a program that waits
// again at once shall find it out of its way. The longer, the longer it goes on like that.
constexpr std::chrono::nanoseconds shortest_parking = 200us;
constexpr std::chrono::nanoseconds longest_parking = 1ms;

}  // namespace

ProgressThread::ProgressThread(shm::ShmNode* node, Fabric* fabric, const WakePipe* pipe,
                               const std::vector<int>& processors)
    : node_(node), fabric_(fabric), pipe_(pipe), process_(::getpid()) {
    if (node_ != nullptr) node_->share();
    thread_ = start_thread([this] {
        take_short_slices();
        run();
    });
    try {
        place_thread(thread_, processors);
    } catch (...) {
        ending_ = true;
        ring();
        thread_.join();
        throw;
    }
}

ProgressThread::~ProgressThread() {
    // In a child of fork there is no such thread.
    if (process_ != ::getpid()) {
        thread_.detach();
        return;
    }
    ending_ = true;
    ring();
    thread_.join();
}

void ProgressThread::add(Work& work) {
    const std::lock_guard lock(mutex_);
    work.held_.store(true, std::memory_order_relaxed);
    work.moved_.store(Work::Moved::on, std::memory_order_relaxed);
    work.place_ = works_.size();
    works_.push_back(&work);
    work.wake_ups_ = 0;
    if (!work.short_) ++open_long_;
    if (open_++ > 0) return;
    // Of what has come so far, nothing is for it, and nobody else waits.
    if (node_ != nullptr) node_->forget_completed();
    if (fabric_ != nullptr) fabric_->forget_completed();
}

void ProgressThread::close(const Work& work) {
    --open_;
    if (!work.short_) --open_long_;
}

void ProgressThread::let_go(Work& work, bool goes_on) {
    if (goes_on) left_.store(true, std::memory_order_relaxed);
    work.moved_.store(Work::Moved::on, std::memory_order_relaxed);
    work.held_.store(false, std::memory_order_release);
    if (listens_.load(std::memory_order_acquire)) return look();
    set_doorbell(Lock(mutex_));
}

void ProgressThread::remove(Work& work) {
    Lock lock(mutex_);
    if (work.moved_ != Work::Moved::done) close(work);
    works_[work.place_] = works_.back();
    works_[work.place_]->place_ = work.place_;
    works_.pop_back();
    if (open_ > 0 && listens_.load(std::memory_order_acquire)) {
        lock.unlock();
        return look();
    }
    set_doorbell(std::move(lock));
}

// After messages have been moved, or have come without a ring: there may be something for the progress
// thread.
void ProgressThread::look() {
    if (has_news()) ring();
}

bool ProgressThread::has_news() {
    return left_.load(std::memory_order_acquire) || (node_ != nullptr && node_->has_news()) ||
           (fabric_ != nullptr && fabric_->has_news());
}

std::uint32_t ProgressThread::rings() const {
    return node_ != nullptr ? node_->rings() : rings_.load(std::memory_order_acquire);
}

void ProgressThread::ring() {
    if (node_ != nullptr) return node_->ring_here();
    rings_.fetch_add(1, std::memory_order_release);
    WakePipe::wake(pipe_->writer());
}

void ProgressThread::take_over() {
    Lock lock(mutex_);
    ++takers_;
    takeovers_.fetch_add(1, std::memory_order_relaxed);
    set_doorbell(std::move(lock));
}

void ProgressThread::hand_back() {
    Lock lock(mutex_);
    --takers_;
    set_doorbell(std::move(lock));
}

bool ProgressThread::sleep(std::chrono::nanoseconds limit) {
    Lock lock(mutex_);
    // It has completed something since this thread has looked, perhaps.
    if (fabric_ != nullptr && std::exchange(completed_, false)) return true;
    const std::uint64_t seen = rounds_;
    ++sleepers_;
    set_doorbell(std::move(lock));
    lock = Lock(mutex_);
    const bool moved = round_done_.wait_for(lock, limit, [&] { return rounds_ != seen; });
    --sleepers_;
    set_doorbell(std::move(lock));
    return moved;
}

bool ProgressThread::has_work() {
    const Lock lock(mutex_);
    return open_ > 0;
}

// Whether the others shall ring here, and whether the fabric may wake it.
void ProgressThread::set_doorbell(Lock lock) {
    const bool attends = sleepers_ > 0 || takers_ == 0;
    attends_.store(attends, std::memory_order_seq_cst);
    const bool wanted = sleepers_ > 0 || (open_ > 0 && takers_ == 0);
    const bool changed = wanted != listens_.load(std::memory_order_acquire);
    if (changed) {
        listens_.store(wanted, std::memory_order_release);
        if (node_ != nullptr) node_->let_ring(wanted);
    }
    const bool urgent = sleepers_ > 0 || open_long_ > 0;
    urgent_.store(urgent, std::memory_order_seq_cst);
    lock.unlock();
    // Who has parked has seen nothing since.
    if (attends && urgent && parked_.load(std::memory_order_seq_cst)) return ring();
    if (changed && wanted) look();
}

// By the fabric. A thread of the program that waits for one short collective after the other moves all by
// itself, and shall not meet this one in between either.
bool ProgressThread::is_needed() const {
    return attends_.load(std::memory_order_seq_cst) &&
           (!waits_again_ || urgent_.load(std::memory_order_seq_cst));
}

void ProgressThread::run() {
    int vain = 0;
    bool woken = false;
    for (;;) {
        const std::uint32_t seen = rings();
        if (ending_) return;
        std::chrono::nanoseconds limit = no_limit;
        const std::uint64_t takeovers = takeovers_.load(std::memory_order_relaxed);
        waits_again_ = std::exchange(known_takeovers_, takeovers) != takeovers;
        if (fabric_ == nullptr ? listens_.load(std::memory_order_acquire) : is_needed()) {
            const bool again = look_once(woken);
            woken = false;
            // A lane that is full does not ring when it has room again, and what somebody holds is let go in
            // silence.
            if (!again) {
                vain = 0;
            } else if (++vain <= max_vain_rounds) {
                continue;
            } else {
                limit = std::min(longest_sleep, shortest_sleep * (vain - max_vain_rounds));
            }
        }
        woken = sleep_since(seen, limit);
        if (woken) vain = 0;
    }
}

// Moves all as far as it goes. True: it should look again soon.
bool ProgressThread::look_once(bool woken) {
    bool missed = false;
    const bool left = left_.exchange(false, std::memory_order_acquire);
    try {
        // First, so that what a start has gathered for a peer leaves together with what follows it.
        if (left) missed = move_works(std::exchange(woken, false));
        if (node_ != nullptr && listens_.load(std::memory_order_acquire)) node_->move_all();
        if (fabric_ != nullptr) {
            do {
                fabric_->forget_completed();
                const bool moved = fabric_->progress();
                missed = move_works(std::exchange(woken, false));
                if (!moved) break;
            } while (true);
        } else {
            missed = move_works(woken);
        }
        missed = has_news() || missed;
    } catch (const Error&) {
        // The link is of no use any more; who waits is told so by his own tests.
        move_works(woken);
    }
    const std::lock_guard lock(mutex_);
    if (fabric_ != nullptr && (sleepers_ == 0 || !std::exchange(completed_, false))) return missed;
    ++rounds_;
    if (sleepers_ > 0) round_done_.notify_all();
    return missed;
}

// True when it was woken, and not by the limit.
bool ProgressThread::sleep_since(std::uint32_t seen, std::chrono::nanoseconds limit) {
    if (fabric_ == nullptr) {
        node_->sleep_since(seen, limit);
    } else if (!sleep_in_poll(seen, limit)) {
        return false;
    }
    const bool woken = fabric_ != nullptr || rings() != seen;
    if (woken) wake_ups_.fetch_add(1, std::memory_order_relaxed);
    return woken;
}

// The same where there is a fabric.
bool ProgressThread::sleep_in_poll(std::uint32_t seen, std::chrono::nanoseconds limit) {
    bool attends = is_needed();
    if (!attends) {
        parked_.store(true, std::memory_order_seq_cst);
        attends = is_needed();
        if (attends) {
            parked_.store(false, std::memory_order_relaxed);
            return false;
        }
        limit = parking_ = waits_again_ ? std::min(2 * parking_, longest_parking) : shortest_parking;
    } else {
        if (!fabric_->prepare_to_sleep()) return false;
        const std::chrono::nanoseconds longest = fabric_->longest_sleep();
        if (longest >= 0ns && (limit < 0ns || longest < limit)) limit = longest;
    }
    bool woken = rings() != seen;
    if (!woken) {
        pollfd sources[] = {{pipe_->descriptor(), POLLIN, 0},
                            {attends ? fabric_->descriptor() : -1, POLLIN, 0}};
        const timespec time{limit.count() / 1'000'000'000, limit.count() % 1'000'000'000};
        woken = ::ppoll(sources, std::size(sources), limit < 0ns ? nullptr : &time, nullptr) > 0;
    }
    pipe_->drain();
    parked_.store(false, std::memory_order_relaxed);
    return woken;
}

// True when one of them was held by another.
bool ProgressThread::move_works(bool woken) {
    bool missed = false;
    Lock lock(mutex_);
    // From the end: what is removed meanwhile is replaced by the last.
    for (std::size_t i = works_.size(); i-- > 0;) {
        if (i >= works_.size()) continue;
        Work& work = *works_[i];
        if (work.moved_ == Work::Moved::done) continue;
        if (work.held_.exchange(true, std::memory_order_acquire)) {
            missed = true;
            continue;
        }
        lock.unlock();
        if (woken) ++work.wake_ups_;
        const Work::Moved moved = work.move();
        lock.lock();
        work.moved_ = moved;
        if (moved != Work::Moved::on) completed_ = true;
        if (moved == Work::Moved::done) close(work);
        work.held_.store(false, std::memory_order_release);
    }
    const bool done = open_ == 0;
    if (done) set_doorbell(std::move(lock));
    return missed && !done;
}

}  // namespace lapwing
