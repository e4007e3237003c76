// Ranks as threads of one process that run lists by the kernel engine, for its tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "collectives/catalogue.hpp"
#include "engines/expected.hpp"
#include "engines/kernel/engine.hpp"
#include "links/process/process_link.hpp"
#include "links/process/socket_pairs.hpp"
#include "support/complete.hpp"
#include "task/chains.hpp"

namespace lapwing::testing_engines {

using namespace std::chrono_literals;

// Counts who reduces.
class ThreadsOfComposition : public Composition {
  public:
    void reduce(std::byte* target, const std::byte* source, std::uint64_t bytes) noexcept override {
        if (std::this_thread::get_id() == maker_) {
            ++calls_;
        } else {
            ++calls_of_others_;
        }
        Composition::reduce(target, source, bytes);
    }
    int calls() const { return calls_; }
    int calls_of_others() const { return calls_of_others_; }

  private:
    const std::thread::id maker_ = std::this_thread::get_id();
    std::atomic<int> calls_ = 0;
    std::atomic<int> calls_of_others_ = 0;
};

// A link to intra-node peers that is used by one thread at a time, and never by the event thread's.
class Guarded : public Link {
  public:
    Guarded(Link& link, std::thread::id event_loop) : link_(link), event_loop_(event_loop) {}

    const char* name() const override { return "guarded"; }
    bool ready() override {
        const Inside inside(*this);
        return link_.ready();
    }
    void send(int peer, const std::byte* data, std::uint64_t bytes, std::uint32_t channel,
              Transfer& transfer) override {
        const Inside inside(*this);
        link_.send(peer, data, bytes, channel, transfer);
    }
    void recv(int peer, std::byte* data, std::uint64_t bytes, std::uint32_t channel,
              Transfer& transfer) override {
        const Inside inside(*this);
        link_.recv(peer, data, bytes, channel, transfer);
    }
    bool test(Transfer& transfer) override {
        const Inside inside(*this);
        return link_.test(transfer);
    }
    int poll_descriptor() override {
        const Inside inside(*this);
        return link_.poll_descriptor();
    }

  private:
    class Inside {
      public:
        explicit Inside(Guarded& link) : link_(link) {
            if (link.inside_.exchange(true))
                ADD_FAILURE() << "two threads at once are in the intra-node link";
            if (std::this_thread::get_id() == link.event_loop_)
                ADD_FAILURE() << "the event thread is in the intra-node link";
        }
        ~Inside() { link_.inside_ = false; }
        Inside(const Inside&) = delete;
        Inside& operator=(const Inside&) = delete;

      private:
        Guarded& link_;
    };

    Link& link_;
    const std::thread::id event_loop_;
    std::atomic<bool> inside_ = false;
};

// One rank's buffers and runs of one problem.
class Rank {
  public:
    Rank(const ListSet& set, int rank, GroupEngine& group)
        : problem_(set.problem),
          rank_(rank),
          prepared_(group.prepare(set.problem, set.lists[static_cast<std::size_t>(rank)], {})) {}

    // On `channel`; that of a run is its number, when none is given.
    void start(std::optional<std::uint32_t> channel = std::nullopt) {
        const int run = static_cast<int>(in_.size());
        in_.push_back(std::make_unique<Bytes>(in_of(problem_, rank_, run)));
        out_.push_back(std::make_unique<Bytes>(out_before(problem_, rank_, run)));
        operations_.push_back(prepared_->start({in_.back()->data(), out_.back()->data(), &reducer_},
                                               channel.value_or(static_cast<std::uint32_t>(run))));
    }
    // Looks at memory only, while others write it: the thread sanitizer is not to mind.
    __attribute__((no_sanitize("thread"))) bool right() const {
        for (std::size_t run = 0; run < out_.size(); ++run) {
            const volatile std::byte* have = out_[run]->data();
            Bytes now(out_[run]->size());
            for (std::size_t i = 0; i < now.size(); ++i) now[i] = have[i];
            if (now != out_after(problem_, rank_, static_cast<int>(run), now)) return false;
        }
        return true;
    }
    bool becomes_right(std::chrono::milliseconds limit = 20s) const {
        const auto end = std::chrono::steady_clock::now() + limit;
        while (!right()) {
            if (std::chrono::steady_clock::now() > end) return false;
            std::this_thread::sleep_for(1ms);
        }
        return true;
    }
    void wait_all(bool last_first = false) {
        if (last_first) std::reverse(operations_.begin(), operations_.end());
        for (Operation* operation : operations_) wait(*prepared_, operation);
        operations_.clear();
    }
    Prepared& prepared() { return *prepared_; }
    Operation* operation() { return operations_.back(); }
    const ThreadsOfComposition& reducer() const { return reducer_; }

  private:
    Problem problem_;
    int rank_;
    std::unique_ptr<Prepared> prepared_;
    // The kernel writes into them while other runs are added: they must not move.
    std::vector<std::unique_ptr<Bytes>> in_;
    std::vector<std::unique_ptr<Bytes>> out_;
    std::vector<Operation*> operations_;
    ThreadsOfComposition reducer_;
};

struct Setting {
    Problem problem = {};
    const char* algorithm = "flat";
    std::optional<ListSet> lists = std::nullopt;  // instead
    int lanes = 2;
    int buffer_bytes = 0;  // of the sockets; 0: the system's choice
    std::uint64_t socket_bytes() const {
        return buffer_bytes == 0 ? kernel::Options{}.socket_bytes : static_cast<std::uint64_t>(buffer_bytes);
    }
    ProgressLists event_thread_lists = ProgressLists::none;
    bool event_thread_submits = false;
    std::vector<int> hosts =
        {};  // of the ranks; those of one are intra-node peers. Empty: all are inter-node
    int persistent_lanes = 0;
};

inline std::thread::id thread_of(EventLoop& event_loop) {
    std::promise<std::thread::id> id;
    event_loop.post([&] { id.set_value(std::this_thread::get_id()); });
    return id.get_future().get();
}

// Runs `body` on a thread for each rank. The barrier is the ranks' own.
inline void on_all_ranks(const Setting& setting,
                         const std::function<void(Rank&, int, std::barrier<>&)>& body) {
    const ListSet lists =
        setting.lists
            ? *setting.lists
            : build_all(setting.problem, parse_choice(setting.problem.collective, setting.algorithm));
    const int ranks = lists.problem.ranks;
    const auto connections = socket_pairs(ranks, setting.lanes, setting.buffer_bytes);
    const auto intra_node = process_links(ranks, true);
    const std::thread::id event_loop = thread_of(connections[0]->event_loop());
    std::barrier<> together(ranks);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank) {
        threads.emplace_back([&, rank] {
            Guarded link(*intra_node[static_cast<std::size_t>(rank)], event_loop);
            const kernel::Options options{.event_thread_lists = setting.event_thread_lists,
                                          .event_thread_submits = setting.event_thread_submits,
                                          .persistent_lanes = setting.persistent_lanes,
                                          .socket_bytes = setting.socket_bytes()};
            try {
                const auto group = open_kernel_group(*connections[static_cast<std::size_t>(rank)], options,
                                                     setting.hosts.empty() ? nullptr : &link,
                                                     intra_node_peers(setting.hosts, rank));
                Rank one(lists, rank, *group);
                body(one, rank, together);
                together.arrive_and_wait();
            } catch (const Error& error) {
                ADD_FAILURE() << "rank " << rank << ": " << error.what();
                together.arrive_and_drop();
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
}

}  // namespace lapwing::testing_engines
