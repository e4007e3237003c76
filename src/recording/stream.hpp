// The files of one thread: its sequence, written while it grows, and read.
//
// DIR/RANK.THREAD.calls has a header and blocks (codec.hpp), each behind its length and a hash. Only the last
// elements of the sequence are in memory. DIR/RANK.THREAD.tail is a copy of these: it is replaced every few
// seconds, so that little is missing if the process is killed, and removed when the sequence is complete.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "recording/folding.hpp"
#include "recording/recording.hpp"

namespace lapwing::recording {

// Before the blocks of a file.
struct StreamHeader {
    static constexpr char magic_of_calls[9] = "lwcalls2";
    static constexpr char magic_of_tail[9] = "lwtail_2";

    char magic[8];
    std::uint64_t began = 0;   // nanoseconds of the steady clock
    std::uint64_t before = 0;  // tail: bytes of the other file that stand before it
};
struct BlockHeader {
    std::uint64_t length = 0;
    std::uint64_t hash = 0;  // fingerprint_of() the bytes
};

class Stream {
  public:
    // `path`: "DIR/RANK.THREAD". Throws Error (system) if the file cannot be made.
    Stream(std::string path, std::uint64_t began, std::size_t window = Folding::default_window);
    ~Stream();
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    // Adds a call that ended at `now`, a time of the steady clock. `fruitless`: it is one that polls, and has
    // found nothing complete.
    void add(const Call& call, const Time& time, bool fruitless, std::uint64_t now);
    // Writes what is in memory. Returns why calls are missing in the files, or an empty string.
    std::string close();

    std::uint64_t bytes() const { return written_; }  // in the file so far

  private:
    void flush_polls();
    void append(std::string_view encoded, const Time& time);
    void write_oldest();
    void write_tail();

    std::string path_;
    std::uint64_t began_;
    int file_ = -1;
    int error_ = 0;  // errno
    std::uint64_t written_ = 0;
    std::uint64_t next_tail_;
    Folding folding_;
    std::string encoded_;  // the call that is being added
    std::string polls_;    // encoded: a call that has found nothing complete; empty: none
    Time polls_time_;      // of all of them
};

// Reads the contents of one thread's files; `tail` is empty if there is none. Blocks that are not whole, and
// all behind them, are left out. Throws Error (parse) if `calls` is not such a file, or if a whole block does
// not have the form of codec.hpp.
void read_thread(std::string_view calls, std::string_view tail, Thread& thread);

}  // namespace lapwing::recording
