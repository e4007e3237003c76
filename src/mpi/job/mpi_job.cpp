#include "mpi/job/mpi_job.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/messages.hpp"
#include "links/mpi/byte_span.hpp"
#include "links/mpi/mpi_error.hpp"
#include "links/mpi/tags.hpp"
#include "links/tcp/address.hpp"
#include "mpi/native/members.hpp"

namespace lapwing {
namespace {

// MPICH's own waits keep the processor, which another rank of this host may need to get here. By them, 8
// ranks on 2 processors start and end in 1.1 s of processor time, and by these in 0.6 s.
void wait_for(MPI_Request request, const std::function<void()>& meanwhile = nullptr) {
    for (int complete = 0;;) {
        MpiError::check(PMPI_Test(&request, &complete, MPI_STATUS_IGNORE));
        if (meanwhile) meanwhile();
        if (complete) return;
        ::sched_yield();
    }
}

}  // namespace

Settings settings_of_job() {
    Settings settings = read_settings(environ);
    MPI_Comm parent = MPI_COMM_NULL;
    PMPI_Comm_get_parent(&parent);
    if (parent == MPI_COMM_NULL) return settings;
    settings.report_file.clear();
    settings.report_mark.clear();
    settings.trace.clear();
    return settings;
}

MpiJob::MpiJob(Settings settings, bool entered)
    : Job(rank_in(MPI_COMM_WORLD), ranks_in(MPI_COMM_WORLD), std::move(settings)), entered_(entered) {
    MPI_Request made = MPI_REQUEST_NULL;
    MpiError::check(PMPI_Comm_idup(MPI_COMM_WORLD, &communicator_, &made));
    wait_for(made);
    MpiError::check(PMPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN));
}

MpiJob::~MpiJob() {
    close_sockets();  // whose thread calls warn()
    PMPI_Comm_free(&communicator_);
}

void MpiJob::receive_rest() {
    int found = 0;
    MPI_Status status{};
    while (PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, communicator_, &found, &status) == MPI_SUCCESS &&
           found != 0) {
        int bytes = 0;
        PMPI_Get_count(&status, MPI_BYTE, &bytes);
        std::vector<std::byte> unused(static_cast<std::size_t>(bytes));
        PMPI_Recv(unused.data(), bytes, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, communicator_,
                  MPI_STATUS_IGNORE);
    }
}

// By Bruck et al. 1997; blocks are short. The MPI's own nonblocking allgather may connect each rank with
// every other (Open MPI 4: 64 ranks on 2 processors then start in three times the time).
void MpiJob::allgather(std::span<const std::byte> mine, std::byte* all) {
    const int tag = message_tag(slot_of_exchanges, 0);
    const auto others = [&](int distance) { return (rank() + distance + ranks()) % ranks(); };
    std::vector<std::byte> found(mine.begin(), mine.end());  // of this rank, the next one, and so on
    const std::size_t bytes = mine.size();
    found.resize(static_cast<std::size_t>(ranks()) * bytes);
    for (int distance = 1; distance < ranks(); distance *= 2) {
        const int count = static_cast<int>(bytes) * std::min(distance, ranks() - distance);
        MPI_Request received = MPI_REQUEST_NULL;
        MPI_Request sent = MPI_REQUEST_NULL;
        MpiError::check(PMPI_Irecv(found.data() + static_cast<std::size_t>(distance) * bytes, count, MPI_BYTE,
                                   others(distance), tag, communicator_, &received));
        MpiError::check(
            PMPI_Isend(found.data(), count, MPI_BYTE, others(-distance), tag, communicator_, &sent));
        wait_for(received);
        wait_for(sent);
    }
    const std::size_t before = static_cast<std::size_t>(rank()) * bytes;
    std::rotate_copy(found.begin(), found.end() - static_cast<std::ptrdiff_t>(before), found.end(), all);
}

std::vector<std::vector<std::byte>> MpiJob::exchange(std::span<const std::byte> mine) {
    // Most exchanges are short or empty: their bytes travel with their length.
    struct Block {
        std::size_t bytes = 0;
        std::array<std::byte, sizeof(tcp::Address)> start{};
    };
    Block own{.bytes = mine.size()};
    std::ranges::copy(mine.first(std::min(mine.size(), own.start.size())), own.start.begin());
    std::vector<Block> blocks(static_cast<std::size_t>(ranks()));
    allgather(std::as_bytes(std::span(&own, 1)), reinterpret_cast<std::byte*>(blocks.data()));
    const std::size_t most = std::ranges::max(blocks, {}, &Block::bytes).bytes;
    std::vector<std::byte> all;
    if (most > own.start.size()) {
        std::vector<std::byte> padded(mine.begin(), mine.end());
        padded.resize(most);
        all.resize(blocks.size() * most);
        allgather(padded, all.data());
    }
    std::vector<std::vector<std::byte>> by_rank;
    for (std::size_t rank = 0; rank < blocks.size(); ++rank) {
        const std::byte* const begin = all.empty() ? blocks[rank].start.data() : all.data() + rank * most;
        by_rank.emplace_back(begin, begin + blocks[rank].bytes);
    }
    return by_rank;
}

std::vector<std::vector<std::byte>> MpiJob::gather(std::span<const std::byte> mine) {
    const std::vector<std::uint64_t> lengths = exchange_values(std::uint64_t{mine.size()});
    MPI_Request request = MPI_REQUEST_NULL;
    std::vector<std::vector<std::byte>> by_rank;
    if (rank() != 0) {
        const ByteSpan span(mine.size());
        MpiError::check(PMPI_Isend(mine.data(), span.count(), span.type(), 0,
                                   message_tag(slot_of_exchanges, 0), communicator_, &request));
        wait_for(request);
        return by_rank;
    }
    by_rank.emplace_back(mine.begin(), mine.end());
    for (int rank = 1; rank < ranks(); ++rank) {
        const ByteSpan span(lengths[static_cast<std::size_t>(rank)]);
        std::vector<std::byte>& bytes = by_rank.emplace_back(lengths[static_cast<std::size_t>(rank)]);
        MpiError::check(PMPI_Irecv(bytes.data(), span.count(), span.type(), rank,
                                   message_tag(slot_of_exchanges, 0), communicator_, &request));
        wait_for(request);
    }
    return by_rank;
}

void MpiJob::leave_together(const std::function<void()>& meanwhile) {
    MPI_Request all_are_here = MPI_REQUEST_NULL;
    MpiError::check(PMPI_Ibarrier(communicator_, &all_are_here));
    wait_for(all_are_here, meanwhile);
}

void MpiJob::warn(const std::string& line) {
    print_message("lapwing: {}\n", line);
}

// There is nothing in an MPI to sleep at.
std::string MpiJob::describe_links(bool threads) const {
    return threads && entered_ ? "mpi (the native MPI, which a thread calls every 0.2 ms)"
                               : "mpi (the native MPI, in the program's calls)";
}

}  // namespace lapwing
