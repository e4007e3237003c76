// Software's ends of a card's queues: it posts requests, and reads completions.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "base/error.hpp"
#include "engines/mlx5/wqe.hpp"

namespace lapwing::mlx5 {

// The source of an error, for messages.
inline const std::string the_card = "the card";
inline std::string rank_in_words(int rank) {
    return fmt::format("rank {}", rank);
}

// A completion queue that software reads entry by entry.
class CompletionReader {
  public:
    explicit CompletionReader(const CompletionQueue& queue) : queue_(queue) {}

    const CompletionQueue& queue() const { return queue_; }
    // Entries read so far.
    std::uint64_t count() const { return count_; }
    // The index of the entry `count` entries after the first.
    std::uint32_t index(std::uint64_t count) const {
        return queue_.first + static_cast<std::uint32_t>(count);
    }

    // Reads all new entries. `visit` gets each of them, also those of failed requests.
    template <typename Visit>
    void read_all(Visit visit) {
        const std::uint64_t before = count_;
        while (const auto entry = completion(queue_, index(count_))) {
            ++count_;
            visit(*entry);
        }
        if (count_ != before) store_record(&queue_.record[0], index(count_) & 0xffffff);
    }
    // The same; throws Error (link) for a failed request. `who` names the other end of a queue pair.
    template <typename Visit, typename Who>
    void read(Visit visit, Who who) {
        read_all([&](const Completion& entry) {
            if (entry.error) {
                throw Error(ErrorCode::link,
                            fmt::format("{}: {}", who(entry.queue_pair), syndrome_in_words(entry.syndrome)));
            }
            visit(entry);
        });
    }
    template <typename Who>
    void read_as(Who who) {
        read([](const Completion&) {}, who);
    }
    void read() {
        read_as([](std::uint32_t) { return the_card; });
    }

  private:
    CompletionQueue queue_;
    std::uint64_t count_ = 0;
};

// A send queue. The caller must not have more requests posted and not complete than the queue has blocks.
class SendQueue {
  public:
    explicit SendQueue(const QueuePair& pair) : pair_(pair), next_(pair.first_send) {}

    const QueuePair& pair() const { return pair_; }
    // The index that the next request gets.
    std::uint16_t next() const { return next_; }

    // The block of the next request: fill it, then call post().
    std::byte* block() const {
        return pair_.send + std::size_t{next_ & (pair_.send_blocks - 1)} * block_bytes;
    }
    void post() { ++next_; }
    // Rings the bell for all posted requests. A managed queue has none: its master enables requests.
    void ring() {
        if (pair_.role == Role::managed) return;
        store_record(&pair_.record[1], next_);
        const std::uint16_t last = static_cast<std::uint16_t>(next_ - 1);
        pair_.bell.ring(bell_value(pair_.send + std::size_t{last & (pair_.send_blocks - 1)} * block_bytes));
    }

  private:
    QueuePair pair_;
    std::uint16_t next_;
};

class ReceiveQueue {
  public:
    explicit ReceiveQueue(const QueuePair& pair) : pair_(pair), next_(pair.first_receive) {}

    void post(const Data& data) {
        put_receive(pair_.receive + std::size_t{next_ & (pair_.receive_entries - 1)} * receive_bytes, data);
        ++next_;
    }
    void publish() { store_record(&pair_.record[0], next_); }

  private:
    QueuePair pair_;
    std::uint16_t next_;
};

// The memory that queues to peers take, all of it pinned, and the depth that it allows.

// Of one lane whose lists have all ranks as peers; other lanes take less.
constexpr std::uint64_t max_bytes_of_lane = std::uint64_t{16} << 20;
// Shorter ones take no less memory, since rings begin at pages.
constexpr std::uint32_t min_depth_of_peer = 32;

// A queue pair with so many requests and receives, and the completion queue of its receives.
constexpr std::uint64_t bytes_of_peer(std::uint32_t depth) {
    constexpr std::uint64_t block = 64, receive = 16, record = 64, page = 4096;
    const auto pages = [](std::uint64_t bytes) { return (bytes + page - 1) / page * page; };
    return pages(depth * (block + receive) + record) + pages(depth * block + record);
}

// A power of two, at most `max_depth`. Returns 0 if the group has too many ranks.
constexpr std::uint32_t depth_of_peers(int ranks, std::uint32_t max_depth) {
    const std::uint64_t peers = ranks > 1 ? static_cast<std::uint64_t>(ranks - 1) : 1;
    std::uint32_t depth = max_depth;
    while (depth > min_depth_of_peer && peers * bytes_of_peer(depth) > max_bytes_of_lane) depth /= 2;
    return peers * bytes_of_peer(depth) > max_bytes_of_lane ? 0 : depth;
}

}  // namespace lapwing::mlx5
