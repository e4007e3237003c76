#include "mpi/job/agreement.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include "links/tcp/addresses.hpp"

namespace lapwing {

std::vector<std::string> agree_on_troubles(std::span<const std::string> mine, int self) {
    int ranks = 0;
    PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
    std::vector<int> first;
    for (const std::string& trouble : mine) first.push_back(trouble.empty() ? ranks : self);
    PMPI_Allreduce(MPI_IN_PLACE, first.data(), static_cast<int>(first.size()), MPI_INT, MPI_MIN,
                   MPI_COMM_WORLD);
    std::vector<std::string> told;
    for (std::size_t i = 0; i < mine.size(); ++i) {
        char text[512] = {};
        if (first[i] == self)
            fmt::format("rank {} ({}): {}", self, tcp::host_name(), mine[i]).copy(text, sizeof text - 1);
        if (first[i] != ranks) PMPI_Bcast(text, sizeof text, MPI_CHAR, first[i], MPI_COMM_WORLD);
        told.emplace_back(text);
    }
    return told;
}

std::string agree_on_trouble(const std::string& mine, int self) {
    return agree_on_troubles({&mine, 1}, self).front();
}

}  // namespace lapwing
