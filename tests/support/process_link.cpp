#include "support/process_link.hpp"

#include "base/error.hpp"
#include "support/unit.hpp"

namespace lapwing {
namespace {

// A send or receive that has not met its counterpart.
struct Entry {
    const std::byte* source = nullptr;  // of a send that is not buffered
    std::vector<std::byte> copy;        // of a buffered one
    std::byte* target = nullptr;        // of a receive
    std::uint64_t bytes = 0;
    bool complete = false;
    bool truncated = false;
};
using Shared = std::shared_ptr<Entry>;

struct Queue {
    std::deque<Shared> sends;
    std::deque<Shared> receives;
};

class Switchboard {
  public:
    explicit Switchboard(bool buffered) : buffered_(buffered) {}

    Shared send(int from, int to, std::uint32_t channel, const std::byte* data, std::uint64_t bytes) {
        const std::lock_guard lock(mutex_);
        auto entry = std::make_shared<Entry>();
        entry->bytes = bytes;
        entry->source = data;
        Queue& queue = queues_[{from, to, channel}];
        if (buffered_ && queue.receives.empty()) {
            entry->copy.assign(data, data + bytes);
            entry->source = entry->copy.data();
            entry->complete = true;
        }
        queue.sends.push_back(entry);
        match(from, to, channel, queue);
        return entry;
    }

    Shared recv(int from, int to, std::uint32_t channel, std::byte* data, std::uint64_t bytes) {
        const std::lock_guard lock(mutex_);
        auto entry = std::make_shared<Entry>();
        entry->bytes = bytes;
        entry->target = data;
        Queue& queue = queues_[{from, to, channel}];
        queue.receives.push_back(entry);
        match(from, to, channel, queue);
        return entry;
    }

    bool complete(const Shared& entry) {
        const std::lock_guard lock(mutex_);
        if (entry->truncated) throw Error(ErrorCode::link, "a message is longer than its receive");
        return entry->complete;
    }

  private:
    void match(int from, int to, std::uint32_t channel, Queue& queue) {
        while (!queue.sends.empty() && !queue.receives.empty()) {
            Entry& sent = *queue.sends.front();
            Entry& received = *queue.receives.front();
            if (sent.bytes > received.bytes)
                received.truncated = true;
            else if (sent.bytes > 0)
                std::memcpy(received.target, sent.source, sent.bytes);
            sent.complete = received.complete = true;
            queue.sends.pop_front();
            queue.receives.pop_front();
        }
        // An idle channel takes no memory.
        if (queue.sends.empty() && queue.receives.empty()) queues_.erase({from, to, channel});
    }

    const bool buffered_;
    std::mutex mutex_;
    std::map<std::tuple<int, int, std::uint32_t>, Queue> queues_;
};

class ProcessLink : public Link {
  public:
    ProcessLink(int rank, std::shared_ptr<Switchboard> board) : rank_(rank), board_(std::move(board)) {}

    void send(int peer, const std::byte* data, std::uint64_t bytes, std::uint32_t channel,
              Transfer& transfer) override {
        keep(board_->send(rank_, peer, channel, data, bytes), transfer);
    }
    void recv(int peer, std::byte* data, std::uint64_t bytes, std::uint32_t channel,
              Transfer& transfer) override {
        keep(board_->recv(peer, rank_, channel, data, bytes), transfer);
    }
    bool test(Transfer& transfer) override {
        if (!transfer.active) return true;
        if (!board_->complete(entries_.at(transfer.handle))) return false;
        entries_.erase(transfer.handle);
        transfer = {};
        return true;
    }

  private:
    void keep(Shared entry, Transfer& transfer) {
        transfer = {++last_handle_, true};
        entries_.emplace(last_handle_, std::move(entry));
    }

    const int rank_;
    std::shared_ptr<Switchboard> board_;
    std::map<std::uintptr_t, Shared> entries_;
    std::uintptr_t last_handle_ = 0;
};

}  // namespace

std::vector<std::unique_ptr<Link>> process_links(int ranks, bool buffered) {
    auto board = std::make_shared<Switchboard>(buffered);
    std::vector<std::unique_ptr<Link>> links;
    for (int rank = 0; rank < ranks; ++rank) links.push_back(std::make_unique<ProcessLink>(rank, board));
    return links;
}

}  // namespace lapwing
