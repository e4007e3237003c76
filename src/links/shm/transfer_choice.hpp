// Chooses the way of long messages from another rank of the host, by the measured times of both ways.
//
// Which way is faster depends on the caches that the two processors share, on the length of the message, and
// on whether its sender takes part: on one machine pieces through shared memory take half the time of the
// kernel's copy, on another twice. A machine's own figures do not decide that (those of virtual machines are
// wrong). Therefore times are measured for each pair of ranks and each class of sizes: the first ten messages
// take both ways in turn; later ones take the way with the lower median, with rare trials of the other. Both
// ranks of an exchange count the same messages, so they try the same way at the same time.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/samples.hpp"

namespace lapwing::shm {

enum class Way : std::uint8_t {
    pieces,  // through the shared memory, by the processor
    direct,  // copied once, by the kernel
};
// "pieces", "kernel"
const char* name(Way way);

// Measured times of one class of sizes. Arrays are by Way.
struct TransferTimes {
    std::uint64_t max_bytes = 0;     // of a message; twice those of the class before
    std::uint64_t messages = 0;      // so far
    double nanoseconds[2] = {0, 0};  // of max_bytes: the median; of several pairs, the mean of theirs
    int measured[2] = {0, 0};        // pairs that have measured it
    int pairs[2] = {0, 0};           // pairs that have chosen it by enough samples of both ways
    Way chosen = Way::pieces;        // by most pairs; before any has enough samples, what they begin with
    bool decided() const { return pairs[0] + pairs[1] > 0; }
};

class TransferChoice {
  public:
    static constexpr int samples = 5;          // of each way; the median is of these
    static constexpr int shortest_look = 16;   // messages between two trials of the other way;
    static constexpr int max_interval = 1024;  // doubles each time that the other way is slower
    static constexpr int timed_of = 8;         // one of so many messages is timed after the choice

    // Before there are times, messages up to `max_in_pieces` bytes take pieces.
    explicit TransferChoice(std::uint64_t max_in_pieces);

    struct Decision {
        Way way;
        bool timed;  // took() must be called when the message has arrived
    };
    Decision next(std::uint64_t bytes);
    void took(std::uint64_t bytes, Way way, std::uint64_t nanoseconds);

    // Of all classes with messages, by size.
    std::vector<TransferTimes> times() const;

  private:
    static constexpr std::size_t classes = 16;  // up to 2^14 bytes, 2^15, ..., and all above
    struct Class {
        std::array<Samples<float, samples>, 2> last;  // nanoseconds for a byte
        std::uint64_t messages = 0;
        std::uint64_t next_look = 0;
        std::uint32_t interval = shortest_look;
        Way chosen = Way::pieces;
    };
    static std::size_t class_of(std::uint64_t bytes);
    static std::uint64_t max_bytes_of(std::size_t number) { return std::uint64_t{1} << (number + 14); }

    std::array<Class, classes> classes_{};
};

}  // namespace lapwing::shm
