#include "mpi/job/mpi_job.hpp"

#include <sched.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <utility>

#include "base/messages.hpp"
#include "links/mpi/byte_span.hpp"
#include "links/mpi/mpi_error.hpp"
#include "links/mpi/tags.hpp"
#include "mpi/native/members.hpp"

namespace lapwing {
namespace {

// MPICH's own waits keep the processor, which another rank of this host may need to get here. By them, 8
// ranks on 2 processors start and end in 1.1 s of processor time, and by these in 0.6 s.
template <typename Condition>
void wait_until(Condition done) {
    while (!done()) ::sched_yield();
}

void wait_for(MPI_Request request, const std::function<void()>& meanwhile = nullptr) {
    wait_until([&] {
        int complete = 0;
        MpiError::check(PMPI_Test(&request, &complete, MPI_STATUS_IGNORE));
        if (meanwhile) meanwhile();
        return complete != 0;
    });
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
    MpiError::check(PMPI_Comm_idup(MPI_COMM_WORLD, &own_, &being_made_));
}

MpiJob::~MpiJob() {
    close_sockets();  // whose thread calls warn()
    // Otherwise the job ends in its start, and not all ranks may come here.
    if (being_made_ == MPI_REQUEST_NULL) PMPI_Comm_free(&own_);
}

MPI_Comm MpiJob::communicator() {
    if (being_made_ != MPI_REQUEST_NULL) {
        wait_for(std::exchange(being_made_, MPI_REQUEST_NULL));
        MpiError::check(PMPI_Comm_set_errhandler(own_, MPI_ERRORS_RETURN));
    }
    return own_;
}

void MpiJob::receive_rest() {
    int found = 0;
    MPI_Status status{};
    while (PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, own_, &found, &status) == MPI_SUCCESS && found != 0) {
        int bytes = 0;
        PMPI_Get_count(&status, MPI_BYTE, &bytes);
        std::vector<std::byte> unused(static_cast<std::size_t>(bytes));
        PMPI_Recv(unused.data(), bytes, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, own_, MPI_STATUS_IGNORE);
    }
}

void MpiJob::send(std::span<const std::byte> bytes, int to) {
    const ByteSpan span(bytes.size());
    MPI_Request request = MPI_REQUEST_NULL;
    MpiError::check(PMPI_Isend(bytes.data(), span.count(), span.type(), to, message_tag(slot_of_exchanges, 0),
                               of_exchanges(), &request));
    wait_for(request);
}

void MpiJob::receive(std::vector<std::byte>& bytes, int from) {
    const int tag = message_tag(slot_of_exchanges, 0);
    MPI_Status status{};
    wait_until([&] {
        int found = 0;
        MpiError::check(PMPI_Iprobe(from, tag, of_exchanges(), &found, &status));
        return found != 0;
    });
    MPI_Count count = 0;
    MpiError::check(PMPI_Get_elements_x(&status, MPI_BYTE, &count));
    const ByteSpan span(static_cast<std::uint64_t>(count));
    const std::size_t before = bytes.size();
    bytes.resize(before + static_cast<std::size_t>(count));
    MPI_Request request = MPI_REQUEST_NULL;
    MpiError::check(
        PMPI_Irecv(bytes.data() + before, span.count(), span.type(), from, tag, of_exchanges(), &request));
    wait_for(request);
}

// Up a binomial tree, and down again: each rank talks to few others, and for each one an MPI may have to make
// a connection. (By its own nonblocking allgather, 64 ranks of Open MPI 4 on 2 processors start in three
// times the time; an algorithm in which all ranks send in each step has three times as many messages.)
std::vector<std::vector<std::byte>> MpiJob::exchange(std::span<const std::byte> mine) {
    // The bytes of this rank, and of those below it, which have the next numbers; each after their length.
    std::vector<std::byte> blocks = bytes_of(mine.size());
    blocks.insert(blocks.end(), mine.begin(), mine.end());
    int distance = 1;
    for (; distance < ranks() && (rank() & distance) == 0; distance *= 2) {
        if (rank() + distance < ranks()) receive(blocks, rank() + distance);
    }
    if (rank() != 0) {
        send(blocks, rank() - distance);
        blocks.clear();
        receive(blocks, rank() - distance);
    }
    while ((distance /= 2) > 0) {
        if (rank() + distance < ranks()) send(blocks, rank() + distance);
    }
    std::vector<std::vector<std::byte>> by_rank;
    const std::byte* at = blocks.data();
    for (int rank = 0; rank < ranks(); ++rank) {
        std::size_t bytes = 0;
        std::memcpy(&bytes, at, sizeof bytes);
        at += sizeof bytes;
        by_rank.emplace_back(at, at + bytes);
        at += bytes;
    }
    return by_rank;
}

std::vector<std::vector<std::byte>> MpiJob::gather(std::span<const std::byte> mine) {
    std::vector<std::vector<std::byte>> by_rank;
    if (rank() != 0) {
        send(mine, 0);
        return by_rank;
    }
    by_rank.emplace_back(mine.begin(), mine.end());
    for (int rank = 1; rank < ranks(); ++rank) receive(by_rank.emplace_back(), rank);
    return by_rank;
}

void MpiJob::leave_together(const std::function<void()>& meanwhile) {
    MPI_Request all_are_here = MPI_REQUEST_NULL;
    MpiError::check(PMPI_Ibarrier(own_, &all_are_here));
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
