#include "watch/workers.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/error.hpp"
#include "links/event/thread.hpp"

namespace lapwing::watch {

Workers::~Workers() {
    std::vector<std::thread> threads;
    {
        const std::lock_guard lock(mutex_);
        over_ = true;
        waiting_.clear();
        threads = std::move(running_);
        running_.clear();
        std::move(ended_.begin(), ended_.end(), std::back_inserter(threads));
    }
    for (std::thread& thread : threads) thread.join();
}

bool Workers::add(std::function<void()> work) {
    std::vector<std::thread> ended;
    bool begins = true;
    {
        const std::lock_guard lock(mutex_);
        if (over_) return false;
        ended.swap(ended_);
        waiting_.push_back(std::move(work));
        try {
            if (running_.size() < max_threads_) running_.push_back(start_thread([this] { run(); }));
        } catch (const Error&) {
            begins = !running_.empty();
            if (!begins) waiting_.clear();
        }
    }
    for (std::thread& thread : ended) thread.join();
    return begins;
}

void Workers::run() {
    std::unique_lock lock(mutex_);
    while (!waiting_.empty()) {
        const std::function<void()> work = std::move(waiting_.front());
        waiting_.pop_front();
        lock.unlock();
        work();
        lock.lock();
    }
    const auto self = std::ranges::find(running_, std::this_thread::get_id(), &std::thread::get_id);
    if (self == running_.end()) return;  // the destructor joins this thread
    ended_.push_back(std::move(*self));
    running_.erase(self);
}

}  // namespace lapwing::watch
