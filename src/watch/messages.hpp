// What ranks and `lapwing status` send each other: frames over connected stream sockets, of one byte for the
// kind, four for the length, and the bytes. One side asks, the other answers.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "watch/diagnosis.hpp"

namespace lapwing::watch {

// What a question asks; it has no bytes. An answer has the kind of its question, or `refused`. The numbers
// are part of the protocol.
enum class FrameKind : std::uint8_t {
    hello = 1,     // a JobDescription answers
    snapshot = 2,  // an encoded RankSnapshot answers
    states = 3,    // a ProcessState for each rank answers; unknown for ranks of other hosts
    stall = 4,     // a rank has waited for too long; an empty frame answers
    refused = 6,   // the reason
    silence = 7,   // a rank has waited for some time; an empty frame answers
    ping = 8,      // an empty frame answers
    collect = 9,   // for each rank of the job, a frame with an encoded RankSnapshot answers
};

struct Frame {
    FrameKind kind;
    std::vector<std::byte> bytes;

    std::string text() const { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
};

// Before the bytes of a frame. Both sides are processes of one architecture.
struct [[gnu::packed]] FrameHead {
    FrameKind kind;
    std::uint32_t bytes;
};
// Bounds of FrameHead::bytes.
inline constexpr std::size_t max_question_bytes = 1 << 20;
inline constexpr std::size_t max_answer_bytes = 32 << 20;

// Reads one frame after the other from a socket, and nothing beyond the frame.
class FrameReader {
  public:
    explicit FrameReader(std::size_t max_bytes) : max_bytes_(max_bytes) {}
    // Takes what has arrived, at most one frame, without waiting. Memory grows with the bytes that arrive,
    // not with the announced length. Throws Error (link) if the peer has closed the connection, or announces
    // more than `max_bytes`.
    std::optional<Frame> read(int descriptor);

  private:
    std::size_t max_bytes_;
    std::vector<std::byte> input_;
};

using Deadline = std::chrono::steady_clock::time_point;
// For poll(): milliseconds, 0 after the deadline.
int time_left(Deadline deadline);

// These functions wait, until the deadline at most. They throw Error (link) then, if the connection fails,
// and as soon as the descriptor `stop` is readable; -1: none.
void send_frame(int descriptor, FrameKind kind, std::span<const std::byte> bytes, Deadline deadline,
                int stop = -1);
Frame receive_frame(int descriptor, std::size_t max_bytes, Deadline deadline, int stop = -1);

// Of the job, by one of its ranks.
struct JobDescription {
    std::string job;
    std::string version;  // of Lapwing
    std::string program;
    int ranks = 0;
    std::vector<std::string> hosts;  // in the order of their first ranks
    std::uint64_t age = 0;           // nanoseconds since MPI_Init
    std::string trouble;             // what the watch does without
};

std::vector<std::byte> encode(const JobDescription& description);
// Throws Error (link).
JobDescription decode_description(std::span<const std::byte> bytes);

}  // namespace lapwing::watch
