// Ranks as processes of this machine, which run every algorithm by the host engine over libfabric, each with
// its form of the problem and its bytes, several in flight. Then one rank is killed, and all others must name
// it.
//
//   fabric_ranks PROVIDER RANKS [put]     put: short messages are written
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstring>
#include <thread>

#include "base/error.hpp"
#include "collectives/catalogue.hpp"
#include "engines/expected.hpp"
#include "engines/host/engine.hpp"
#include "links/ofi/fabric.hpp"
#include "task/sample.hpp"
#include "task/text.hpp"

namespace lapwing {
namespace {

using namespace testing_engines;

constexpr int max_ranks = 16;
constexpr std::size_t max_bytes_of_address = 4096;

// What the processes share: for the exchange of addresses, and to wait for each other.
struct Shared {
    struct {
        std::atomic<std::size_t> bytes;
        std::byte address[max_bytes_of_address];
    } ranks[max_ranks];
    std::atomic<int> arrived;
    std::atomic<int> ended;
};

std::vector<Fabric::Peer> exchange(Shared& shared, const Fabric& fabric, int rank, int ranks) {
    const std::vector<std::byte> own = fabric.address();
    std::copy(own.begin(), own.end(), shared.ranks[rank].address);
    shared.ranks[rank].bytes = own.size();
    std::vector<Fabric::Peer> peers;
    for (int peer = 0; peer < ranks; ++peer) {
        while (shared.ranks[peer].bytes == 0) std::this_thread::yield();
        const std::byte* begin = shared.ranks[peer].address;
        peers.push_back({{begin, begin + shared.ranks[peer].bytes}, fmt::format("process{}", peer)});
    }
    return peers;
}

// Several runs of one list; the channels go on from those of the last.
void run(Fabric& fabric, Link& link, const Problem& problem, const Choice& choice, int rank,
         std::uint32_t& channel) {
    constexpr int runs = 2;
    const auto prepared = open_host_group(link)->prepare(problem, build(problem, rank, choice), {});
    Composition composition;
    std::vector<Bytes> in;
    std::vector<Bytes> out;
    std::vector<Operation*> operations;
    for (int i = 0; i < runs; ++i) {
        in.push_back(in_of(problem, rank, i));
        out.push_back(out_before(problem, rank, i));
    }
    for (std::size_t i = 0; i < runs; ++i)
        operations.push_back(prepared->start({in[i].data(), out[i].data(), &composition}, channel++));
    for (Operation* operation : operations)
        while (!prepared->test(operation))
            if (!fabric.progress()) std::this_thread::yield();
    for (int i = 0; i < runs; ++i) {
        const Bytes& now = out[static_cast<std::size_t>(i)];
        if (now != out_after(problem, rank, i, now))
            throw Error(ErrorCode::internal, print(problem) + " " + print(choice) + ": wrong bytes");
    }
}

int run_all(Fabric& fabric, Link& link, int rank, int ranks) {
    int lists = 0;
    std::uint32_t channel = 0;
    for (const Algorithm* algorithm : catalogue()) {
        const Choice choice{algorithm, default_parameters(*algorithm)};
        for (const std::uint64_t bytes : {8U, 70000U}) {
            const auto sample = algorithm->knows_hosts ? sample_problems_on_hosts : sample_problems;
            const auto problems = sample(algorithm->collective, ranks, bytes);
            // Now one form of the problem, then another.
            for (std::size_t i = 0; i < problems.size(); ++i) {
                const Problem& problem =
                    problems[(static_cast<std::size_t>(lists) * 7 + i) % problems.size()];
                if (!algorithm->applies(problem, choice.parameters)) continue;
                run(fabric, link, problem, choice, rank, channel);
                ++lists;
                break;
            }
        }
    }
    return lists;
}

int run_rank(Shared& shared, const char* provider, int rank, int ranks, bool puts) {
    try {
        const auto fabric = ofi_fabric(provider, {.ranks = ranks, .puts = puts});
        if (rank == 0) fmt::print("{}{}\n", fabric->description(), fabric->rdma() ? ", RDMA" : "");
        fabric->join(exchange(shared, *fabric, rank, ranks), rank, {0x123456789});
        std::vector<int> members;
        for (int i = 0; i < ranks; ++i) members.push_back(i);
        const auto link = fabric->link(1, members);
        const int lists = run_all(*fabric, *link, rank, ranks);
        ++shared.arrived;
        while (shared.arrived < ranks) {
            fabric->progress();
            std::this_thread::yield();
        }
        if (rank == 0) fmt::print("{} ranks: {} lists right\n", ranks, lists);
        std::fflush(stdout);
        // The last one dies; the others wait for it.
        if (rank == ranks - 1) ::raise(SIGKILL);
        std::byte byte{};
        Link::Transfer transfer;
        const std::string lost = fmt::format("rank {} (process{}) is unreachable", ranks - 1, ranks - 1);
        try {
            link->recv(ranks - 1, &byte, 1, 0, transfer);
            while (!link->test(transfer)) {
                if (fabric->progress() || !fabric->prepare_to_sleep()) continue;
                ::usleep(1000);
            }
        } catch (const Error& error) {
            const std::string why = error.what();
            if (rank == 0) fmt::print("{}\n", why);
            if (why.starts_with(lost)) return 0;
        }
        fmt::print(stderr, "rank {}: the end of rank {} is not seen\n", rank, ranks - 1);
    } catch (const Error& error) {
        fmt::print(stderr, "rank {}: {}\n", rank, error.what());
    }
    return 1;
}

}  // namespace
}  // namespace lapwing

int main(int count, char** arguments) {
    using namespace lapwing;
    const bool puts = count == 4 && arguments[3] == std::string("put");
    const int ranks = count == 3 || puts ? std::atoi(arguments[2]) : 0;
    if (ranks < 2 || ranks > max_ranks) {
        fmt::print(stderr, "fabric_ranks: PROVIDER and RANKS, 2 to {}\n", max_ranks);
        return 2;
    }
    void* memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return 1;
    auto& shared = *static_cast<Shared*>(memory);
    std::vector<pid_t> processes;
    for (int rank = 0; rank < ranks; ++rank) {
        const pid_t process = ::fork();
        if (process == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            const int result = run_rank(shared, arguments[1], rank, ranks, puts);
            std::fflush(stdout);
            ::_exit(result);
        }
        processes.push_back(process);
    }
    bool right = true;
    for (int left = ranks; left > 0; --left) {
        int status = 0;
        const pid_t process = ::wait(&status);
        const bool is_last = process == processes.back();
        const bool as_planned = is_last ? WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL
                                        : WIFEXITED(status) && WEXITSTATUS(status) == 0;
        if (as_planned) continue;
        // The others would wait for it.
        if (right)
            for (const pid_t other : processes) ::kill(other, SIGKILL);
        right = false;
    }
    return right ? 0 : 1;
}
