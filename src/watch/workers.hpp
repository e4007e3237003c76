// Threads that are made when there is work, and end when there is none.
#pragma once

#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace lapwing::watch {

class Workers {
  public:
    explicit Workers(std::size_t max_threads) : max_threads_(max_threads) {}
    // Drops work that has not begun, and waits for the rest.
    ~Workers();

    // Runs `work`, which must not throw, on a thread of its own; after other work if there are as many
    // threads as there may be. By any thread. Returns false, and drops the work, if no thread can be made.
    bool add(std::function<void()> work);

  private:
    void run();

    const std::size_t max_threads_;
    std::mutex mutex_;
    bool over_ = false;
    std::deque<std::function<void()>> waiting_;
    std::vector<std::thread> running_;
    std::vector<std::thread> ended_;  // to be joined
};

}  // namespace lapwing::watch
