#include "task/lowering.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "base/error.hpp"
#include "task/text.hpp"

namespace lapwing {
namespace {

class Lowering {
  public:
    explicit Lowering(const List& list) {
        queues_.rank = list.rank;
        queues_.ranks = list.ranks;
    }

    void add(const Task& task) {
        switch (task.kind) {
            case Kind::send:
                queues_of(task.peer).send.push_back({task, !held_});
                enable(Kind::enable_send, task.peer);
                return;
            case Kind::recv:
                queues_of(task.peer).receive.push_back({task, !held_});
                if (held_) enable(Kind::enable_recv, task.peer);
                return;
            case Kind::wait:
                queues_of(task.peer);
                [[fallthrough]];
            case Kind::copy:
            case Kind::reduce:
                queues_.management.push_back(task);
                held_ = true;
                return;
            case Kind::enable_send:
            case Kind::enable_recv:
                break;
        }
        throw_invalid(fmt::format("only lowering makes {}: a list must not hold it", print(task)));
    }

    Queues finish() { return std::move(queues_); }

  private:
    PeerQueues& queues_of(int peer) {
        const auto [found, added] = index_.try_emplace(peer, queues_.peers.size());
        if (added) queues_.peers.emplace_back().peer = peer;
        return queues_.peers[found->second];
    }

    void enable(Kind kind, int peer) {
        if (!queues_.management.empty()) {
            Task& last = queues_.management.back();
            if (last.kind == kind && last.peer == peer) {
                ++last.count;
                return;
            }
        }
        Task& task = queues_.management.emplace_back();
        task.kind = kind;
        task.peer = peer;
        task.count = 1;
    }

    Queues queues_;
    std::unordered_map<int, std::size_t> index_;  // peer to index in queues_.peers
    bool held_ = false;  // the management queue holds a task that later sends and receives must not overtake
};

void print_queue(std::string& text, const char* which, int peer, const std::vector<QueuedTask>& queue) {
    if (queue.empty()) return;
    text += fmt::format("  {} {}\n", which, peer);
    for (const QueuedTask& queued : queue) {
        text +=
            fmt::format("    {:<28} {}\n", print(queued.task), queued.enabled ? "enabled" : "not enabled");
    }
}

}  // namespace

Queues lower(const List& list) {
    Lowering lowering(list);
    for (const Task& task : list.tasks) lowering.add(task);
    return lowering.finish();
}

std::uint64_t depth(const Queues& queues) {
    std::size_t longest = queues.management.size();
    for (const PeerQueues& peer : queues.peers) {
        longest = std::max({longest, peer.send.size(), peer.receive.size()});
    }
    return longest;
}

std::string print(const Queues& queues) {
    std::string text = fmt::format("queues of rank {} of {}\n", queues.rank, queues.ranks);
    for (const PeerQueues& peer : queues.peers) {
        print_queue(text, "receive queue from", peer.peer, peer.receive);
        print_queue(text, "send queue to", peer.peer, peer.send);
    }
    text += "  management queue\n";
    for (std::size_t i = 0; i < queues.management.size(); ++i) {
        const std::string task = print(queues.management[i]);
        if (i + 1 == queues.management.size()) {
            text += fmt::format("    {:<28} signals\n", task);
        } else {
            text += fmt::format("    {}\n", task);
        }
    }
    return text;
}

}  // namespace lapwing
