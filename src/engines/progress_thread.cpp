#include "engines/progress_thread.hpp"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "links/event/thread.hpp"

namespace lapwing {
namespace {

using namespace std::chrono_literals;

// So often it looks again at once at what does not move; then it sleeps in between.
constexpr int most_vain_rounds = 3;
constexpr std::chrono::nanoseconds shortest_sleep = 50us;
constexpr std::chrono::nanoseconds longest_sleep = 1ms;
constexpr std::chrono::nanoseconds no_limit = -1ns;

}  // namespace

ProgressThread::ProgressThread(shm::ShmNode& node, const std::vector<int>& processors)
    : node_(node), process_(::getpid()) {
    node_.share();
    thread_ = start_thread([this] { run(); });
    try {
        place_thread(thread_, processors);
    } catch (...) {
        ending_ = true;
        node_.ring_here();
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
    node_.ring_here();
    thread_.join();
}

void ProgressThread::add(Work& work) {
    const std::lock_guard lock(mutex_);
    work.held_.store(true, std::memory_order_relaxed);
    work.moved_.store(Work::Moved::on, std::memory_order_relaxed);
    work.place_ = works_.size();
    works_.push_back(&work);
    // Of what has come so far, nothing is for it, and nobody else waits.
    if (open_++ == 0) node_.forget_completed();
}

void ProgressThread::let_go(Work& work) {
    work.moved_.store(Work::Moved::on, std::memory_order_relaxed);
    work.held_.store(false, std::memory_order_release);
    if (listens_.load(std::memory_order_relaxed)) return look();
    set_doorbell(Lock(mutex_));
}

void ProgressThread::remove(Work& work) {
    Lock lock(mutex_);
    if (work.moved_ != Work::Moved::done) --open_;
    works_[work.place_] = works_.back();
    works_[work.place_]->place_ = work.place_;
    works_.pop_back();
    if (open_ > 0 && listens_.load(std::memory_order_relaxed)) {
        lock.unlock();
        return look();
    }
    set_doorbell(std::move(lock));
}

// After messages of the node have been moved, or have come without a ring: there may be something for the
// progress thread.
void ProgressThread::look() {
    if (node_.has_news()) node_.ring_here();
}

void ProgressThread::take_over() {
    Lock lock(mutex_);
    ++takers_;
    set_doorbell(std::move(lock));
}

void ProgressThread::hand_back() {
    Lock lock(mutex_);
    --takers_;
    set_doorbell(std::move(lock));
}

bool ProgressThread::sleep(std::chrono::nanoseconds limit) {
    Lock lock(mutex_);
    const std::uint64_t seen = rounds_;
    ++sleepers_;
    set_doorbell(std::move(lock));
    lock = Lock(mutex_);
    const bool moved = round_done_.wait_for(lock, limit, [&] { return rounds_ != seen; });
    --sleepers_;
    set_doorbell(std::move(lock));
    return moved;
}

// Whether the others shall ring here.
void ProgressThread::set_doorbell(Lock lock) {
    const bool wanted = sleepers_ > 0 || (open_ > 0 && takers_ == 0);
    if (wanted == listens_.load(std::memory_order_relaxed)) return;
    listens_.store(wanted, std::memory_order_relaxed);
    node_.let_ring(wanted);
    lock.unlock();
    if (wanted) look();
}

void ProgressThread::run() {
    int vain = 0;
    for (;;) {
        const std::uint32_t rings = node_.rings();
        if (ending_) return;
        std::chrono::nanoseconds limit = no_limit;
        if (listens_.load(std::memory_order_relaxed)) {
            bool again = false;
            try {
                node_.move_all();
                again = move_works();
                again = node_.has_news() || again;
            } catch (const Error&) {
                // The link is of no use any more; who waits is told so by his own tests.
                move_works();
            }
            {
                const std::lock_guard lock(mutex_);
                ++rounds_;
                if (sleepers_ > 0) round_done_.notify_all();
            }
            // A lane that is full does not ring when it has room again, and what somebody holds is let go in
            // silence.
            if (!again) {
                vain = 0;
            } else if (++vain <= most_vain_rounds) {
                continue;
            } else {
                limit = std::min(longest_sleep, shortest_sleep * (vain - most_vain_rounds));
            }
        }
        node_.sleep_since(rings, limit);
        if (node_.rings() != rings) vain = 0;
    }
}

// True when one of them was held by another.
bool ProgressThread::move_works() {
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
        const Work::Moved moved = work.move();
        lock.lock();
        work.moved_ = moved;
        if (moved == Work::Moved::done) --open_;
        work.held_.store(false, std::memory_order_release);
    }
    const bool done = open_ == 0;
    if (done) set_doorbell(std::move(lock));
    return missed && !done;
}

}  // namespace lapwing
