// Frames over a connected stream socket, on an event thread: one byte for the kind, four for the length, and
// the bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "links/event/event_loop.hpp"

namespace lapwing::watch {

// What a frame contains. The numbers are part of the protocol.
enum class FrameKind : std::uint8_t {
    hello = 1,         // `lapwing status` asks; a JobDescription answers
    ask_snapshot = 2,  // a rank asks; an encoded RankSnapshot answers
    ask_states = 3,    // ranks, as int64; a ProcessState for each answers
    stall = 4,         // the rank, and nanoseconds that it has waited, as int64; an empty frame answers
    collect = 5,       // `lapwing status` asks; one `rank` for each rank answers, then `done`
    rank = 6,          // RankReply
    done = 7,
    message = 8,   // the sender's rank, as int64; and the message
    announce = 9,  // the same; an empty frame answers
    refused = 10,  // the reason
};

struct Frame {
    FrameKind kind;
    std::vector<std::byte> bytes;
};

// The bytes of a frame's head and the bound of what follows.
inline constexpr std::size_t frame_head_bytes = 5;
inline constexpr std::size_t max_question_bytes = 1 << 20;
inline constexpr std::size_t max_answer_bytes = 32 << 20;

std::vector<std::byte> frame_head(FrameKind kind, std::size_t bytes);
// The length that `head` announces.
std::size_t announced_bytes(std::span<const std::byte, frame_head_bytes> head);

// Only on the event thread.
class Channel : public std::enable_shared_from_this<Channel> {
  public:
    struct Work {
        std::function<void(Channel&, const Frame&)> frame;
        // Once, with the reason; not after close().
        std::function<void(Channel&, const std::string& why)> end;
    };

    // `release` runs when the channel has stopped using the descriptor, and may close it. A peer that
    // announces more than `max_bytes` ends the channel.
    static std::shared_ptr<Channel> open(EventLoop& loop, int descriptor, std::function<void()> release,
                                         std::size_t max_bytes, Work work);
    ~Channel();
    Channel(const Channel&) = delete;
    Channel& operator=(const Channel&) = delete;

    void send(FrameKind kind, std::span<const std::byte> bytes = {});
    std::size_t unsent() const { return output_.size() - sent_; }
    // Sends an answer to no question, reads nothing, and ends the channel.
    void refuse(FrameKind kind, std::span<const std::byte> bytes);
    void close();

  private:
    Channel(EventLoop& loop, int descriptor, std::function<void()> release, std::size_t max_bytes, Work work);
    void advance(unsigned events);
    bool read();
    bool write();
    void watch();
    void end(const std::string& why);

    EventLoop& loop_;
    int descriptor_;
    std::function<void()> release_;
    const std::size_t max_bytes_;
    Work work_;
    std::vector<std::byte> input_;
    std::vector<std::byte> output_;
    std::size_t sent_ = 0;
    unsigned watched_ = 0;
    bool finishing_ = false;
};

}  // namespace lapwing::watch
