// Ranks that run lists by the kernel engine.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>

#include "collectives/catalogue.hpp"
#include "engines/kernel/engine.hpp"
#include "engines/kernel/prepared.hpp"
#include "engines/ranks.hpp"
#include "links/socket_pairs.hpp"
#include "support/process_link.hpp"
#include "support/unit.hpp"
#include "task/chains.hpp"

namespace lapwing::testing_engines {

// An intra-node link that one thread at a time must use, and never the event thread.
class Guarded : public Link {
  public:
    Guarded(Link& link, std::thread::id event_loop) : link_(link), event_loop_(event_loop) {}

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

struct Setting {
    Problem problem = {};
    const char* algorithm = "flat";
    std::optional<ListSet> lists = std::nullopt;  // used instead of the problem and the algorithm
    int lanes = 2;
    int buffer_bytes = 0;  // of each socket; 0: the system's choice
    std::uint64_t socket_bytes() const {
        return buffer_bytes == 0 ? kernel::Options{}.socket_bytes : static_cast<std::uint64_t>(buffer_bytes);
    }
    ProgressLists event_thread_lists = ProgressLists::none;
    bool event_thread_submits = false;
    std::vector<int> hosts = {};  // by rank; empty: each rank has a host of its own
    int persistent_lanes = 0;
    std::uint64_t low_water_mark = 0;  // not 0: the connections are over TCP
};

inline std::thread::id thread_of(EventLoop& event_loop) {
    std::promise<std::thread::id> id;
    event_loop.post([&] { id.set_value(std::this_thread::get_id()); });
    return id.get_future().get();
}

// Two ends of a connection over TCP, through the loopback interface. `buffer_bytes` as in socket_pairs().
inline std::array<int, 2> tcp_pair(int buffer_bytes) {
    const auto set = [](int socket, int level, int name, int value) {
        ASSERT_EQ(::setsockopt(socket, level, name, &value, sizeof value), 0);
    };
    const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (buffer_bytes > 0) set(listener, SOL_SOCKET, SO_RCVBUF, buffer_bytes);
    EXPECT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(listener, 1), 0);
    EXPECT_EQ(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
    std::array<int, 2> pair{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), -1};
    if (buffer_bytes > 0) set(pair[0], SOL_SOCKET, SO_RCVBUF, buffer_bytes);
    EXPECT_EQ(::connect(pair[0], reinterpret_cast<sockaddr*>(&address), size), 0);
    pair[1] = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    ::close(listener);
    for (const int end : pair) {
        set(end, IPPROTO_TCP, TCP_NODELAY, 1);
        if (buffer_bytes > 0) set(end, SOL_SOCKET, SO_SNDBUF, buffer_bytes);
        EXPECT_EQ(::fcntl(end, F_SETFL, O_NONBLOCK), 0);
    }
    return pair;
}

// As socket_pairs(), over TCP.
inline std::vector<std::unique_ptr<Connections>> tcp_pairs(int ranks, int lanes, int buffer_bytes) {
    auto all = socket_pairs(ranks, lanes);
    for (int first = 0; first < ranks; ++first) {
        for (int second = first + 1; second < ranks; ++second) {
            for (int lane = 0; lane < lanes; ++lane) {
                const std::array<int, 2> pair = tcp_pair(buffer_bytes);
                ::dup3(pair[0], all[static_cast<std::size_t>(first)]->descriptor(second, lane), O_CLOEXEC);
                ::dup3(pair[1], all[static_cast<std::size_t>(second)]->descriptor(first, lane), O_CLOEXEC);
                for (const int end : pair) ::close(end);
            }
        }
    }
    return all;
}

// The engine for one group over these connections, without a job. `intra_node` and `progress_thread` may be
// null.
inline std::unique_ptr<GroupEngine> open_kernel_group(Connections& connections,
                                                      const kernel::Options& options = {},
                                                      Link* intra_node = nullptr,
                                                      const std::vector<bool>& intra_node_peers = {},
                                                      ProgressThread* progress_thread = nullptr) {
    using namespace kernel;
    return std::make_unique<KernelGroupEngine>(
        KernelPrepared::Shared{std::make_shared<KernelGroup>(connections, options, intra_node),
                               std::make_shared<PersistentLanes>([] { return true; }, [] {}),
                               std::make_shared<ThreadRecords>(), options, progress_thread},
        intra_node_peers);
}

// Calls `body` on a thread for each rank.
inline void on_all_ranks(const Setting& setting,
                         const std::function<void(RankRuns&, int, std::barrier<>&)>& body) {
    const ListSet lists =
        setting.lists
            ? *setting.lists
            : build_all(setting.problem, parse_choice(setting.problem.collective, setting.algorithm));
    const int ranks = lists.problem.ranks;
    const auto connections = setting.low_water_mark > 0
                                 ? tcp_pairs(ranks, setting.lanes, setting.buffer_bytes)
                                 : socket_pairs(ranks, setting.lanes, setting.buffer_bytes);
    const auto intra_node = process_links(ranks, true);
    const std::thread::id event_loop = thread_of(connections[0]->event_loop());
    on_ranks(ranks, [&](int rank, std::barrier<>& together) {
        const auto at = static_cast<std::size_t>(rank);
        Guarded link(*intra_node[at], event_loop);
        const kernel::Options options{.event_thread_lists = setting.event_thread_lists,
                                      .event_thread_submits = setting.event_thread_submits,
                                      .persistent_lanes = setting.persistent_lanes,
                                      .socket_bytes = setting.socket_bytes(),
                                      .low_water_mark = setting.low_water_mark};
        const auto group =
            open_kernel_group(*connections[at], options, setting.hosts.empty() ? nullptr : &link,
                              intra_node_peers(setting.hosts, rank));
        RankRuns one(lists.problem, rank, group->prepare(lists.problem, lists.lists[at], {}));
        body(one, rank, together);
        together.arrive_and_wait();
    });
}

// Sums along a line of ranks: each rank sends what it has reduced, so only the first can advance without a
// processor.
constexpr const char* line_of_sums =
    "problem scan ranks 3 bytes 16 op sum type uint32\n"
    "list 0 in 16 out 16 scratch 0\n"
    "  send 1 in[0+16]\n"
    "  copy out[0+16] in[0+16]\n"
    "end\n"
    "list 1 in 16 out 16 scratch 16\n"
    "  recv 0 scratch[0+16]\n"
    "  copy out[0+16] in[0+16]\n"
    "  wait 0 1\n"
    "  reduce sum uint32 out[0+16] scratch[0+16]\n"
    "  send 2 out[0+16]\n"
    "end\n"
    "list 2 in 16 out 16 scratch 16\n"
    "  recv 1 scratch[0+16]\n"
    "  copy out[0+16] in[0+16]\n"
    "  wait 1 1\n"
    "  reduce sum uint32 out[0+16] scratch[0+16]\n"
    "end\n";

}  // namespace lapwing::testing_engines
