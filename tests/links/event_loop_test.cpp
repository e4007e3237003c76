#include "links/event/event_loop.hpp"

#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <condition_variable>
#include <csignal>
#include <future>

#include "base/error.hpp"
#include "support/unit.hpp"

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
void settle(EventLoop& event_loop) {
    std::promise<void> done;
    event_loop.post([&] { done.set_value(); });
    ASSERT_EQ(done.get_future().wait_for(limit), std::future_status::ready);
}

TEST(EventLoop, RunsWhatIsPostedInOrderOnItsOwnThread) {
    std::vector<int> order;
    std::string name;
    std::thread::id thread;
    sigset_t blocked;
    EventLoop event_loop;
    for (int i = 0; i < 100; ++i) event_loop.post([&, i] { order.push_back(i); });
    event_loop.post([&] {
        char text[16] = "";
        pthread_getname_np(pthread_self(), text, sizeof text);
        name = text;
        thread = std::this_thread::get_id();
        pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
        event_loop.post([&] { order.push_back(1000); });
    });
    settle(event_loop);
    settle(event_loop);
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

TEST(EventLoop, RunsLaterWhatIsPostedForLater) {
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
    EventLoop event_loop;
    for (std::size_t i = 0; i < posts.size(); ++i) {
        const milliseconds delay{(std::array{80, 20, 50, 0})[i]};
        posts[i].earliest = Clock::now() + delay;
        event_loop.post_after(delay, [&, i] {
            posts[i].ran = Clock::now();
            posts[i].place = next++;
            done();
        });
        posts[i].latest = Clock::now() + delay;
    }
    ASSERT_TRUE(done.reaches(4));
    for (const Post& one : posts) {
        EXPECT_GE(one.ran, one.earliest);
        for (const Post& other : posts)
            if (one.latest < other.earliest) {
                EXPECT_LT(one.place, other.place);
            }
    }
}

TEST(EventLoop, WatchesUntilItForgets) {
    Event event;
    Counter seen;
    EventLoop event_loop;
    event_loop.watch(event.descriptor, EPOLLIN, [&](unsigned events) {
        EXPECT_EQ(events, static_cast<unsigned>(EPOLLIN));
        event.take();
        seen();
    });
    for (int i = 1; i <= 3; ++i) {
        event.raise();
        ASSERT_TRUE(seen.reaches(i));
    }
    event_loop.forget(event.descriptor);
    event.raise();
    std::this_thread::sleep_for(milliseconds(20));
    settle(event_loop);
    EXPECT_EQ(seen.value(), 3);
    event_loop.forget(event.descriptor);  // once more does no harm
    event_loop.forget(12345);
}

TEST(EventLoop, ASecondWatchReplacesTheFirst) {
    Event event;
    Counter first;
    Counter second;
    EventLoop event_loop;
    event_loop.watch(event.descriptor, EPOLLIN, [&](unsigned) { first(); });
    event_loop.watch(event.descriptor, EPOLLIN | EPOLLET, [&](unsigned) { second(); });
    event.raise();
    ASSERT_TRUE(second.reaches(1));
    EXPECT_EQ(first.value(), 0);
    // At edges: what stays readable does not call again.
    std::this_thread::sleep_for(milliseconds(20));
    settle(event_loop);
    EXPECT_EQ(second.value(), 1);
}

TEST(EventLoop, AWatchThatCannotBeReplacedStays) {
    EventLoop event_loop;
    Event event;
    Counter ran;
    event_loop.watch(event.descriptor, EPOLLIN, [&](unsigned) {
        event.take();
        ran();
    });
    // The kernel does not change a descriptor's events to exclusive ones.
    EXPECT_THROW(event_loop.watch(event.descriptor, EPOLLIN | EPOLLEXCLUSIVE, {}), Error);
    event.raise();
    EXPECT_TRUE(ran.reaches(1));
    event_loop.forget(event.descriptor);
}

TEST(EventLoop, ForgetWaitsForWorkThatRuns) {
    Event event;
    std::promise<void> begun;
    std::promise<void> go_on;
    std::atomic<bool> ended{false};
    EventLoop event_loop;
    event_loop.watch(event.descriptor, EPOLLIN, [&](unsigned) {
        event.take();
        begun.set_value();
        go_on.get_future().wait_for(limit);
        ended = true;
    });
    event.raise();
    ASSERT_EQ(begun.get_future().wait_for(limit), std::future_status::ready);
    std::atomic<bool> forgotten{false};
    std::thread other([&] {
        event_loop.forget(event.descriptor);
        EXPECT_TRUE(ended);
        forgotten = true;
    });
    std::this_thread::sleep_for(milliseconds(30));
    EXPECT_FALSE(forgotten);
    go_on.set_value();
    other.join();
    EXPECT_TRUE(forgotten);
}

TEST(EventLoop, WorkMayForgetItselfAndOthers) {
    Event one;
    Event two;
    Counter seen;
    EventLoop event_loop;
    // Both are ready before either runs: whoever comes first keeps the other from running.
    const auto work = [&](unsigned) {
        event_loop.forget(one.descriptor);
        event_loop.forget(two.descriptor);
        seen();
    };
    std::promise<void> go_on;
    event_loop.post([&] { go_on.get_future().wait_for(limit); });
    event_loop.watch(one.descriptor, EPOLLIN, work);
    event_loop.watch(two.descriptor, EPOLLIN, work);
    one.raise();
    two.raise();
    go_on.set_value();
    ASSERT_TRUE(seen.reaches(1));
    settle(event_loop);
    std::this_thread::sleep_for(milliseconds(20));
    settle(event_loop);
    EXPECT_EQ(seen.value(), 1);
}

TEST(EventLoop, ADescriptorMayBeClosedAndComeAgain) {
    Counter seen;
    EventLoop event_loop;
    for (int i = 1; i <= 50; ++i) {
        Event event;
        event_loop.watch(event.descriptor, EPOLLIN, [&](unsigned) {
            event.take();
            seen();
        });
        event.raise();
        ASSERT_TRUE(seen.reaches(i));
        if (i % 2 == 0) event_loop.forget(event.descriptor);
        settle(event_loop);
    }
}

TEST(EventLoop, EndsWithWorkWaiting) {
    auto kept = std::make_shared<int>(1);
    std::atomic<int> ran{0};
    {
        EventLoop event_loop;
        event_loop.post_after(std::chrono::hours(1), [kept, &ran] { ++ran; });
        event_loop.post([] { std::this_thread::sleep_for(milliseconds(20)); });
        for (int i = 0; i < 10; ++i) event_loop.post_after(milliseconds(10'000), [kept, &ran] { ++ran; });
    }
    EXPECT_EQ(ran, 0);
    EXPECT_EQ(kept.use_count(), 1);
}

TEST(EventLoop, WorkThatIsCancelledGoesWithWhatItHolds) {
    auto kept = std::make_shared<int>(1);
    std::atomic<int> ran{0};
    Counter seen;
    EventLoop event_loop;
    const EventLoop::Timer far = event_loop.post_after(std::chrono::hours(1), [kept, &ran] { ++ran; });
    const EventLoop::Timer other = event_loop.post_after(std::chrono::hours(1), [kept, &ran] { ++ran; });
    EXPECT_EQ(kept.use_count(), 3);
    event_loop.cancel(far);
    EXPECT_EQ(kept.use_count(), 2);
    event_loop.cancel(far);
    event_loop.cancel({});
    EXPECT_EQ(kept.use_count(), 2);
    event_loop.cancel(other);
    // One that has run, and one that cancels itself.
    EventLoop::Timer own;
    event_loop.post([&] {
        own = event_loop.post_after(milliseconds(1), [&] {
            event_loop.cancel(own);
            seen();
        });
    });
    ASSERT_TRUE(seen.reaches(1));
    event_loop.cancel(own);
    EXPECT_EQ(ran, 0);
    EXPECT_EQ(kept.use_count(), 1);
}

TEST(EventLoop, WorkThatIsDueCanBeCancelledUntilItBegins) {
    std::atomic<bool> ran{false};
    std::promise<void> done;
    EventLoop event_loop;
    EventLoop::Timer timer;
    event_loop.post([&] {
        event_loop.post([&] { event_loop.cancel(timer); });
        timer = event_loop.post_after(milliseconds(0), [&] { ran = true; });
        event_loop.post_after(milliseconds(1), [&] { done.set_value(); });
        // In the next turn the cancellation is posted and the timer is due.
        while (std::chrono::steady_clock::now() <= timer.when) {
        }
    });
    done.get_future().wait();
    EXPECT_FALSE(ran);
}

TEST(EventLoop, StaysOnTheProcessorsThatItGets) {
    cpu_set_t own;
    ASSERT_EQ(sched_getaffinity(0, sizeof own, &own), 0);
    int last = -1;
    for (int i = 0; i < CPU_SETSIZE; ++i)
        if (CPU_ISSET(i, &own)) last = i;
    EventLoop event_loop;
    cpu_set_t given;
    const auto ask = [&] {
        event_loop.post([&] { sched_getaffinity(0, sizeof given, &given); });
        settle(event_loop);
    };
    event_loop.place({last});
    ask();
    EXPECT_EQ(CPU_COUNT(&given), 1);
    EXPECT_TRUE(CPU_ISSET(last, &given));
    event_loop.place({});
    ask();
    EXPECT_TRUE(CPU_EQUAL(&given, &own));
    EXPECT_THROW(event_loop.place({-1}), Error);
    EXPECT_THROW(event_loop.place({CPU_SETSIZE - 1}), Error);
}

TEST(EventLoop, ManyThreadsMayCallIt) {
    Counter ran;
    EventLoop event_loop;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&] {
            for (int round = 0; round < 200; ++round) {
                Event event;
                event_loop.post([&] { ran(); });
                event_loop.watch(event.descriptor, EPOLLIN, [&](unsigned) { event.take(); });
                event.raise();
                event_loop.forget(event.descriptor);
            }
        });
    for (auto& thread : threads) thread.join();
    ASSERT_TRUE(ran.reaches(800));
}

}  // namespace
}  // namespace lapwing
