// What the parts of computing.cpp share: an exchange of a large message, and what a rank finds.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "reference.hpp"

namespace computing {

// By name.
using Parts = std::map<std::string, std::function<void()>>;
Parts messages();
Parts ends();
Parts processes();
Parts callbacks();
// These make the thread level themselves.
void level(const std::string& asked);
void registration(const std::string& process);
void session();

// Longer than the MPIs send ahead.
constexpr int length = 8 << 20;

inline bool watches = false;
inline char** arguments = nullptr;  // of main()

inline int rank() {
    return rank_in(world);
}
// Of two ranks; the only one is its own partner.
inline int other() {
    return (rank() + 1) % size_of(world);
}

inline void check(bool right, const char* what) {
    if (right) return;
    std::printf("rank %d: %s\n", rank(), what);
    std::fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 3);
}
inline void say(const std::string& what) {
    if (rank() == 0) std::puts(what.c_str());
    std::fflush(stdout);
}

inline void compute(std::chrono::milliseconds time) {
    const auto end = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < end) {
    }
}

// An exchange of a large message with the other rank.
class Exchange {
  public:
    explicit Exchange(int bytes = length) : out_(bytes), in_(bytes) {}
    void* out() { return out_.data(); }
    void* in() { return in_.data(); }
    int bytes() const { return static_cast<int>(out_.size()); }
    void fill(char mark) {
        mark_ = mark;
        std::fill(out_.begin(), out_.end(), static_cast<char>(mark + rank()));
        std::fill(in_.begin(), in_.end(), '\0');
    }
    void start(char mark, MPI_Comm communicator = world, int to = other(),
               decltype(&MPI_Irecv) receive = MPI_Irecv, decltype(&MPI_Isend) send = MPI_Isend) {
        fill(mark);
        receive(in(), bytes(), MPI_BYTE, to, 1, communicator, &requests_[0]);
        send(out(), bytes(), MPI_BYTE, to, 1, communicator, &requests_[1]);
    }
    void watch(std::size_t byte) {
        if (!watches) return;
        const volatile char* last = &in_[byte];
        while (*last == '\0') {
        }
    }
    void watch() { watch(in_.size() - 1); }
    void wait(decltype(&MPI_Waitall) wait_all = MPI_Waitall) {
        wait_all(2, requests_, MPI_STATUSES_IGNORE);
        check(in_ == std::vector<char>(in_.size(), static_cast<char>(mark_ + other())), "wrong data");
    }
    void run(char mark, MPI_Comm communicator = world, int to = other()) {
        start(mark, communicator, to);
        watch();
        wait();
    }

  private:
    std::vector<char> out_, in_;
    char mark_ = 0;
    MPI_Request requests_[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
};

inline void exchange_once() {
    Exchange().run('a');
}

}  // namespace computing
