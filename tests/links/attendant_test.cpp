#include "links/attendant.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <csignal>
#include <future>
#include <mutex>
#include <thread>

#include "base/error.hpp"

namespace lapwing {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds limit{30'000};

// Counts up, and waits for a number.
class Counter {
  public:
    void operator()() {
        const std::lock_guard lock(mutex_);
        ++value_;
        changed_.notify_all();
    }
    bool reaches(int value) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, limit, [&] { return value_ >= value; });
    }
    int value() {
        const std::lock_guard lock(mutex_);
        return value_;
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    int value_ = 0;
};

struct Event {
    int descriptor = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    ~Event() { close(descriptor); }
    void raise() {
        const std::uint64_t one = 1;
        EXPECT_EQ(write(descriptor, &one, sizeof one), 8);
    }
    std::uint64_t take() {
        std::uint64_t count = 0;
        return read(descriptor, &count, sizeof count) == 8 ? count : 0;
    }
};

// Waits until everything posted before has run.
void settle(Attendant& attendant) {
    std::promise<void> done;
    attendant.post([&] { done.set_value(); });
    ASSERT_EQ(done.get_future().wait_for(limit), std::future_status::ready);
}

TEST(Attendant, RunsWhatIsPostedInOrderOnItsOwnThread) {
    std::vector<int> order;
    std::string name;
    std::thread::id thread;
    sigset_t blocked;
    Attendant attendant;
    for (int i = 0; i < 100; ++i) attendant.post([&, i] { order.push_back(i); });
    attendant.post([&] {
        char text[16] = "";
        pthread_getname_np(pthread_self(), text, sizeof text);
        name = text;
        thread = std::this_thread::get_id();
        pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
        attendant.post([&] { order.push_back(1000); });
    });
    settle(attendant);
    settle(attendant);
    ASSERT_EQ(order.size(), 101u);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(order[i], i);
    EXPECT_EQ(order.back(), 1000);
    EXPECT_EQ(name, "lapwing");
    EXPECT_NE(thread, std::this_thread::get_id());
    for (const int signal : {SIGINT, SIGTERM, SIGALRM, SIGCHLD, SIGUSR1, SIGPROF, SIGRTMIN})
        EXPECT_EQ(sigismember(&blocked, signal), 1) << signal;
    sigset_t own;
    pthread_sigmask(SIG_BLOCK, nullptr, &own);
    EXPECT_EQ(sigismember(&own, SIGUSR1), 0);
}

TEST(Attendant, RunsLaterWhatIsPostedForLater) {
    using Clock = std::chrono::steady_clock;
    // It is due between these two times; the machine may take long over a call.
    struct Post {
        Clock::time_point earliest;
        Clock::time_point latest;
        Clock::time_point ran;
        int place = 0;  // among those that ran
    };
    std::vector<Post> posts(4);
    std::atomic<int> next = 0;
    Counter done;
    Attendant attendant;
    for (std::size_t i = 0; i < posts.size(); ++i) {
        const milliseconds delay{(std::array{80, 20, 50, 0})[i]};
        posts[i].earliest = Clock::now() + delay;
        attendant.post_after(delay, [&, i] {
            posts[i].ran = Clock::now();
            posts[i].place = next++;
            done();
        });
        posts[i].latest = Clock::now() + delay;
    }
    ASSERT_TRUE(done.reaches(4));
    for (const Post& one : posts) {
        EXPECT_GE(one.ran, one.earliest);
        for (const Post& other : posts) {
            if (one.latest < other.earliest) {
                EXPECT_LT(one.place, other.place);
            }
        }
    }
}

TEST(Attendant, WatchesUntilItForgets) {
    Event event;
    Counter seen;
    Attendant attendant;
    attendant.watch(event.descriptor, EPOLLIN, [&](unsigned events) {
        EXPECT_EQ(events, static_cast<unsigned>(EPOLLIN));
        event.take();
        seen();
    });
    for (int i = 1; i <= 3; ++i) {
        event.raise();
        ASSERT_TRUE(seen.reaches(i));
    }
    attendant.forget(event.descriptor);
    event.raise();
    std::this_thread::sleep_for(milliseconds(20));
    settle(attendant);
    EXPECT_EQ(seen.value(), 3);
    attendant.forget(event.descriptor);  // once more does no harm
    attendant.forget(12345);
}

TEST(Attendant, ASecondWatchReplacesTheFirst) {
    Event event;
    Counter first;
    Counter second;
    Attendant attendant;
    attendant.watch(event.descriptor, EPOLLIN, [&](unsigned) { first(); });
    attendant.watch(event.descriptor, EPOLLIN | EPOLLET, [&](unsigned) { second(); });
    event.raise();
    ASSERT_TRUE(second.reaches(1));
    EXPECT_EQ(first.value(), 0);
    // At edges: what stays readable does not call again.
    std::this_thread::sleep_for(milliseconds(20));
    settle(attendant);
    EXPECT_EQ(second.value(), 1);
}

TEST(Attendant, ForgetWaitsForWorkThatRuns) {
    Event event;
    std::promise<void> begun;
    std::promise<void> go_on;
    std::atomic<bool> ended{false};
    Attendant attendant;
    attendant.watch(event.descriptor, EPOLLIN, [&](unsigned) {
        event.take();
        begun.set_value();
        go_on.get_future().wait_for(limit);
        ended = true;
    });
    event.raise();
    ASSERT_EQ(begun.get_future().wait_for(limit), std::future_status::ready);
    std::atomic<bool> forgotten{false};
    std::thread other([&] {
        attendant.forget(event.descriptor);
        EXPECT_TRUE(ended);
        forgotten = true;
    });
    std::this_thread::sleep_for(milliseconds(30));
    EXPECT_FALSE(forgotten);
    go_on.set_value();
    other.join();
    EXPECT_TRUE(forgotten);
}

TEST(Attendant, WorkMayForgetItselfAndOthers) {
    Event one;
    Event two;
    Counter seen;
    Attendant attendant;
    // Both are ready before either runs: whoever comes first keeps the other from running.
    const auto work = [&](unsigned) {
        attendant.forget(one.descriptor);
        attendant.forget(two.descriptor);
        seen();
    };
    std::promise<void> go_on;
    attendant.post([&] { go_on.get_future().wait_for(limit); });
    attendant.watch(one.descriptor, EPOLLIN, work);
    attendant.watch(two.descriptor, EPOLLIN, work);
    one.raise();
    two.raise();
    go_on.set_value();
    ASSERT_TRUE(seen.reaches(1));
    settle(attendant);
    std::this_thread::sleep_for(milliseconds(20));
    settle(attendant);
    EXPECT_EQ(seen.value(), 1);
}

TEST(Attendant, ADescriptorMayBeClosedAndComeAgain) {
    Counter seen;
    Attendant attendant;
    for (int i = 1; i <= 50; ++i) {
        Event event;
        attendant.watch(event.descriptor, EPOLLIN, [&](unsigned) {
            event.take();
            seen();
        });
        event.raise();
        ASSERT_TRUE(seen.reaches(i));
        if (i % 2 == 0) attendant.forget(event.descriptor);
        settle(attendant);
    }
}

TEST(Attendant, EndsWithWorkWaiting) {
    auto kept = std::make_shared<int>(1);
    std::atomic<int> ran{0};
    {
        Attendant attendant;
        attendant.post_after(std::chrono::hours(1), [kept, &ran] { ++ran; });
        attendant.post([] { std::this_thread::sleep_for(milliseconds(20)); });
        for (int i = 0; i < 10; ++i) attendant.post_after(milliseconds(10'000), [kept, &ran] { ++ran; });
    }
    EXPECT_EQ(ran, 0);
    EXPECT_EQ(kept.use_count(), 1);
}

TEST(Attendant, StaysOnTheProcessorsThatItGets) {
    cpu_set_t own;
    ASSERT_EQ(sched_getaffinity(0, sizeof own, &own), 0);
    int last = -1;
    for (int i = 0; i < CPU_SETSIZE; ++i)
        if (CPU_ISSET(i, &own)) last = i;
    Attendant attendant;
    cpu_set_t given;
    const auto ask = [&] {
        attendant.post([&] { sched_getaffinity(0, sizeof given, &given); });
        settle(attendant);
    };
    attendant.place({last});
    ask();
    EXPECT_EQ(CPU_COUNT(&given), 1);
    EXPECT_TRUE(CPU_ISSET(last, &given));
    attendant.place({});
    ask();
    EXPECT_TRUE(CPU_EQUAL(&given, &own));
    EXPECT_THROW(attendant.place({-1}), Error);
    EXPECT_THROW(attendant.place({CPU_SETSIZE - 1}), Error);
}

TEST(Attendant, ManyThreadsMayCallIt) {
    Counter ran;
    Attendant attendant;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&] {
            for (int round = 0; round < 200; ++round) {
                Event event;
                attendant.post([&] { ran(); });
                attendant.watch(event.descriptor, EPOLLIN, [&](unsigned) { event.take(); });
                event.raise();
                attendant.forget(event.descriptor);
            }
        });
    for (auto& thread : threads) thread.join();
    ASSERT_TRUE(ran.reaches(800));
}

}  // namespace
}  // namespace lapwing
