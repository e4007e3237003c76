// Runs a concurrent program in every order of its accesses to shared words: all schedules with up to so many
// preemptions (Musuvathi and Qadeer 2007, "Iterative Context Bounding for Systematic Testing of Multithreaded
// Programs"). The order of memory is sequential here; the thread sanitizer looks for what is weaker.
#pragma once

#include <ucontext.h>

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace lapwing::test {

class Explorer {
  public:
    struct Result {
        std::uint64_t schedules = 0;
        std::string failure;  // empty: none
    };
    // `make` sets up a new world, and gives its threads; these say by fail() what is wrong.
    static Result explore(const std::function<std::vector<std::function<void()>>()>& make, int preemptions) {
        Explorer explorer(preemptions);
        Result result;
        do {
            explorer.run(make());
            ++result.schedules;
            result.failure = explorer.failure_;
        } while (result.failure.empty() && explorer.next_schedule());
        return result;
    }

    // Called by the threads. Before an access to a shared word:
    static void point(bool writes) {
        Explorer& explorer = *current_;
        explorer.switch_thread();
        if (!writes) return;
        ++explorer.writes_;
        ++explorer.threads_[explorer.running_]->own_writes;
    }
    // That others have made until now.
    static std::uint64_t writes() {
        return current_->writes_of_others(*current_->threads_[current_->running_]);
    }
    // The thread goes on when others have made more writes than these.
    static void pause(std::uint64_t writes) {
        Explorer& explorer = *current_;
        Thread& own = *explorer.threads_[explorer.running_];
        own.paused_at = writes;
        explorer.yield();
        own.paused_at = never;
    }
    // Until wake() with the same place.
    static void sleep(const void* place) {
        Explorer& explorer = *current_;
        explorer.threads_[explorer.running_]->sleeps_at = place;
        explorer.yield();
    }
    static void wake(const void* place) {
        for (auto& thread : current_->threads_) {
            if (thread->sleeps_at == place) thread->sleeps_at = nullptr;
        }
    }
    static void fail(const std::string& why) {
        if (current_->failure_.empty()) current_->failure_ = why;
    }

  private:
    static constexpr std::uint64_t never = UINT64_MAX;
    static constexpr std::size_t no_thread = SIZE_MAX;

    struct Thread {
        std::function<void()> work;
        ucontext_t context{};
        std::unique_ptr<char[]> stack;
        bool ended = false;
        const void* sleeps_at = nullptr;
        std::uint64_t paused_at = never;  // writes of others that had been then
        std::uint64_t own_writes = 0;
    };
    // One decision: which of so many threads goes on.
    struct Choice {
        std::size_t taken;
        std::size_t alternatives;
    };

    explicit Explorer(int preemptions) : max_preemptions_(preemptions) {}

    void run(std::vector<std::function<void()>> works) {
        current_ = this;
        threads_.clear();
        failure_.clear();
        preemptions_ = 0;
        writes_ = 0;
        step_ = 0;
        constexpr std::size_t stack_bytes = 65536;
        for (auto& work : works) {
            auto thread = std::make_unique<Thread>();
            thread->work = std::move(work);
            thread->stack.reset(new char[stack_bytes]);
            ::getcontext(&thread->context);
            thread->context.uc_stack.ss_sp = thread->stack.get();
            thread->context.uc_stack.ss_size = stack_bytes;
            thread->context.uc_link = &main_;
            ::makecontext(&thread->context, &Explorer::enter, 0);
            threads_.push_back(std::move(thread));
        }
        running_ = no_thread;
        for (;;) {
            const std::size_t next = choose();
            if (next == no_thread) break;
            running_ = next;
            ::swapcontext(&main_, &threads_[next]->context);
        }
        std::string left;
        for (std::size_t i = 0; i < threads_.size(); ++i) {
            if (!threads_[i]->ended) left += (left.empty() ? "" : ", ") + std::to_string(i);
        }
        if (!left.empty() && failure_.empty()) failure_ = "these wait for ever: " + left;
        current_ = nullptr;
    }

    static void enter() {
        Explorer& explorer = *current_;
        Thread& own = *explorer.threads_[explorer.running_];
        try {
            own.work();
        } catch (const std::exception& error) {
            fail(error.what());
        }
        own.ended = true;
        // uc_link goes back to run().
    }

    bool may_run(const Thread& thread) const {
        return !thread.ended && thread.sleeps_at == nullptr &&
               (thread.paused_at == never || thread.paused_at < writes_of_others(thread));
    }

    std::uint64_t writes_of_others(const Thread& thread) const { return writes_ - thread.own_writes; }

    // The thread that goes on, by the schedule that is being tried; a new decision takes the first.
    std::size_t choose() {
        std::vector<std::size_t> ready;
        const bool goes_on = running_ != no_thread && may_run(*threads_[running_]);
        if (goes_on) ready.push_back(running_);
        if (!goes_on || preemptions_ < max_preemptions_) {
            for (std::size_t i = 0; i < threads_.size(); ++i) {
                if (i != running_ && may_run(*threads_[i])) ready.push_back(i);
            }
        }
        if (ready.empty()) return no_thread;
        std::size_t taken = 0;
        if (ready.size() > 1) {
            if (step_ == schedule_.size()) schedule_.push_back({0, ready.size()});
            taken = schedule_[step_++].taken;
        }
        if (goes_on && taken > 0) ++preemptions_;
        return ready[taken];
    }
    void switch_thread() {
        const std::size_t next = choose();
        if (next == running_) return;
        go_to(next);
    }
    // The running thread cannot go on by itself.
    void yield() {
        const std::size_t own = running_;
        const std::size_t next = choose();
        if (next == own) return;
        if (next == no_thread) {
            ::swapcontext(&threads_[own]->context, &main_);
            return;
        }
        go_to(next);
    }
    void go_to(std::size_t next) {
        const std::size_t own = std::exchange(running_, next);
        ::swapcontext(&threads_[own]->context, &threads_[next]->context);
    }

    // The next schedule in the order of depth first. False: that was the last.
    bool next_schedule() {
        while (!schedule_.empty() && schedule_.back().taken + 1 == schedule_.back().alternatives)
            schedule_.pop_back();
        if (schedule_.empty()) return false;
        ++schedule_.back().taken;
        return true;
    }

    static inline Explorer* current_ = nullptr;
    const int max_preemptions_;
    std::vector<std::unique_ptr<Thread>> threads_;
    ucontext_t main_{};
    std::size_t running_ = no_thread;
    int preemptions_ = 0;
    std::uint64_t writes_ = 0;
    std::vector<Choice> schedule_;
    std::size_t step_ = 0;
    std::string failure_;
};

// A word of which the explorer sees each access.
template <typename Value>
class Explored {
  public:
    Value load(std::memory_order = std::memory_order_seq_cst) const {
        Explorer::point(false);
        return value_;
    }
    void store(Value value, std::memory_order = std::memory_order_seq_cst) {
        Explorer::point(true);
        value_ = value;
    }
    Value exchange(Value value, std::memory_order = std::memory_order_seq_cst) {
        Explorer::point(true);
        return std::exchange(value_, value);
    }
    Value fetch_add(Value value, std::memory_order = std::memory_order_seq_cst) {
        Explorer::point(true);
        return std::exchange(value_, static_cast<Value>(value_ + value));
    }
    // Without being seen.
    Value peek() const { return value_; }

  private:
    Value value_ = 0;
};

}  // namespace lapwing::test
