// Ranks of a group for the tests of the C API, over loopback: as threads of this process, or as processes.
#pragma once

#include <lapwing.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "support/jobs.hpp"
#include "support/unit.hpp"

namespace lapwing::testing_c {

using testing_engines::Meeting;

// An exchange function for threads.
struct Seat {
    Meeting* meeting;
    int rank;
};
inline int exchange(void* context, const void* block, void* blocks, std::size_t bytes) {
    const auto& [meeting, rank] = *static_cast<const Seat*>(context);
    auto* end = static_cast<std::byte*>(blocks);
    for (const auto& one : meeting->exchange(rank, {static_cast<const std::byte*>(block), bytes}))
        end = std::copy(one.begin(), one.end(), end);
    return 0;
}

// The last message, behind the status.
inline std::string told(lapwing_status status) {
    return status == LAPWING_SUCCESS ? ""
                                     : std::string(lapwing_status_name(status)) + ": " + lapwing_message();
}
#define EXPECT_WORKS(call) EXPECT_EQ(lapwing::testing_c::told(call), "")

// What lapwing_group_create takes, with the loopback interface.
class Options {
  public:
    explicit Options(std::vector<std::string> options) : options_(std::move(options)) {
        options_.emplace_back("tcp_interface=127.0.0.1");
        for (const std::string& option : options_) pointers_.push_back(option.c_str());
        pointers_.push_back(nullptr);
    }
    Options(const Options&) = delete;
    Options& operator=(const Options&) = delete;
    const char* const* data() const { return pointers_.data(); }

  private:
    std::vector<std::string> options_;
    std::vector<const char*> pointers_;
};

// Runs `work` as every rank of a group of threads; the group is destroyed after it.
inline void as_threads(int size, const std::vector<std::string>& options,
                       const std::function<void(lapwing_group*, int)>& work) {
    Meeting meeting(size);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < size; ++rank) {
        threads.emplace_back([&, rank] {
            Seat seat{&meeting, rank};
            lapwing_group* group = nullptr;
            const Options chosen(options);
            EXPECT_WORKS(lapwing_group_create(rank, size, exchange, &seat, chosen.data(), &group));
            if (group == nullptr) return;
            work(group, rank);
            EXPECT_WORKS(lapwing_group_destroy(group));
        });
    }
    for (std::thread& thread : threads) thread.join();
}

// Refuses a system call to this process, as many containers do.
inline void refuse_here(long call) {
    sock_filter instructions[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(call), 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog filter = {std::size(instructions), instructions};
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
        ::_exit(4);
}

// What processes share: blocks, a barrier, and what each of them has to say.
struct Board {
    static constexpr int max_ranks = 8;
    pthread_barrier_t barrier;
    char blocks[max_ranks][4096];
    char said[max_ranks][1024];

    static int exchange(void* context, const void* block, void* blocks, std::size_t bytes) {
        const auto& [board, own, size] = *static_cast<const Place*>(context);
        if (bytes > sizeof board->blocks[0]) return 7;
        std::memcpy(board->blocks[own], block, bytes);
        pthread_barrier_wait(&board->barrier);
        for (int other = 0; other < size; ++other) {
            std::memcpy(static_cast<char*>(blocks) + bytes * static_cast<std::size_t>(other),
                        board->blocks[other], bytes);
        }
        return 0;
    }
    struct Place {
        Board* board;
        int rank;
        int size;
    };
};

// Runs `work` as every rank, each a process, with a group of all of them. Gives back what each of them says:
// what `work` returned; or how the process ended.
inline std::vector<std::string> as_processes(int size, const std::vector<std::string>& options,
                                             const std::function<std::string(lapwing_group*, int)>& work,
                                             const std::function<void(int)>& before = {}) {
    void* const memory =
        ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    auto* const board = static_cast<Board*>(memory);
    pthread_barrierattr_t shared;
    pthread_barrierattr_init(&shared);
    pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&board->barrier, &shared, static_cast<unsigned>(size));
    std::vector<pid_t> processes;
    for (int rank = 0; rank < size; ++rank) {
        const pid_t process = ::fork();
        if (process != 0) {
            processes.push_back(process);
            continue;
        }
        ::alarm(60);
        if (before) before(rank);
        Board::Place place{board, rank, size};
        lapwing_group* group = nullptr;
        const Options chosen(options);
        const lapwing_status status =
            lapwing_group_create(rank, size, Board::exchange, &place, chosen.data(), &group);
        const std::string said = status == LAPWING_SUCCESS ? work(group, rank) : told(status);
        std::strncpy(board->said[rank], said.c_str(), sizeof board->said[rank] - 1);
        ::_exit(lapwing_group_destroy(group) == LAPWING_SUCCESS ? 0 : 3);
    }
    std::vector<std::string> said;
    for (int rank = 0; rank < size; ++rank) {
        int status = 0;
        ::waitpid(processes[static_cast<std::size_t>(rank)], &status, 0);
        const std::string end = WIFSIGNALED(status) ? " (signal " + std::to_string(WTERMSIG(status)) + ")"
                                : WEXITSTATUS(status) != 0
                                    ? " (status " + std::to_string(WEXITSTATUS(status)) + ")"
                                    : "";
        said.push_back(board->said[rank] + end);
    }
    ::munmap(memory, sizeof(Board));
    return said;
}

}  // namespace lapwing::testing_c
