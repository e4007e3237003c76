#include "mpi/job/mpi_job.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "base/messages.hpp"
#include "links/mpi/mpi_error.hpp"
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

std::vector<std::vector<std::byte>> MpiJob::exchange(std::span<const std::byte> mine) {
    // Most exchanges are short or empty: their bytes travel with their length.
    struct Block {
        int bytes = 0;
        std::array<std::byte, 92> start{};
    };
    Block own{static_cast<int>(mine.size())};
    std::ranges::copy(mine.first(std::min(mine.size(), own.start.size())), own.start.begin());
    std::vector<Block> blocks(static_cast<std::size_t>(ranks()));
    MPI_Request received = MPI_REQUEST_NULL;
    MpiError::check(PMPI_Iallgather(&own, sizeof own, MPI_BYTE, blocks.data(), sizeof own, MPI_BYTE,
                                    communicator_, &received));
    wait_for(received);
    std::vector<int> lengths;
    for (const Block& block : blocks) lengths.push_back(block.bytes);
    std::vector<int> begins(lengths.size());
    std::exclusive_scan(lengths.begin(), lengths.end(), begins.begin(), 0);
    std::vector<std::byte> all;
    if (std::ranges::max(lengths) > static_cast<int>(own.start.size())) {
        all.resize(static_cast<std::size_t>(begins.back() + lengths.back()));
        MpiError::check(PMPI_Iallgatherv(mine.data(), own.bytes, MPI_BYTE, all.data(), lengths.data(),
                                         begins.data(), MPI_BYTE, communicator_, &received));
        wait_for(received);
    }
    std::vector<std::vector<std::byte>> by_rank;
    for (std::size_t rank = 0; rank < lengths.size(); ++rank) {
        const auto* const begin = all.empty() ? blocks[rank].start.data() : all.data() + begins[rank];
        by_rank.emplace_back(begin, begin + lengths[rank]);
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
