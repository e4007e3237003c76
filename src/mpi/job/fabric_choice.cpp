#include "mpi/job/fabric_choice.hpp"

#include <mpi.h>
#include <sodium.h>

#include <cstring>
#include <numeric>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "links/fabrics.hpp"
#include "links/tcp/addresses.hpp"
#include "mpi/job/agreement.hpp"

namespace lapwing {
namespace {

// What a rank tells the others: the name of its host, a zero, its address.
std::vector<std::byte> introduction(const Fabric& fabric) {
    const std::string host = tcp::host_name();
    const auto* const name = reinterpret_cast<const std::byte*>(host.c_str());
    std::vector<std::byte> told(name, name + host.size() + 1);
    const std::vector<std::byte> address = fabric.address();
    told.insert(told.end(), address.begin(), address.end());
    return told;
}

Fabric::Peer read_introduction(std::span<const std::byte> told) {
    Fabric::Peer peer;
    peer.host = reinterpret_cast<const char*>(told.data());
    peer.address.assign(told.begin() + static_cast<std::ptrdiff_t>(peer.host.size()) + 1, told.end());
    return peer;
}

std::vector<Fabric::Peer> exchange_introductions(const Fabric& fabric) {
    int ranks = 0;
    PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const std::vector<std::byte> mine = introduction(fabric);
    const int bytes = static_cast<int>(mine.size());
    std::vector<int> lengths(static_cast<std::size_t>(ranks));
    PMPI_Allgather(&bytes, 1, MPI_INT, lengths.data(), 1, MPI_INT, MPI_COMM_WORLD);
    std::vector<int> begins(lengths.size());
    std::exclusive_scan(lengths.begin(), lengths.end(), begins.begin(), 0);
    std::vector<std::byte> all(static_cast<std::size_t>(begins.back() + lengths.back()));
    PMPI_Allgatherv(mine.data(), bytes, MPI_BYTE, all.data(), lengths.data(), begins.data(), MPI_BYTE,
                    MPI_COMM_WORLD);
    std::vector<Fabric::Peer> peers;
    for (std::size_t rank = 0; rank < lengths.size(); ++rank) {
        peers.push_back(read_introduction(std::span(all).subspan(static_cast<std::size_t>(begins[rank]),
                                                                 static_cast<std::size_t>(lengths[rank]))));
    }
    return peers;
}

JobKey agree_on_key(int self) {
    JobKey key{};
    if (self == 0) ::randombytes_buf(key.data(), sizeof key);
    PMPI_Bcast(key.data(), static_cast<int>(key.size()), MPI_UINT64_T, 0, MPI_COMM_WORLD);
    return key;
}

}  // namespace

std::unique_ptr<Fabric> choose_fabric(const std::string& network, const tcp::Options& tcp,
                                      bool progress_thread, int self, std::vector<NetworkRefused>& refused) {
    const bool any = network == "auto";
    FabricOptions options;
    PMPI_Comm_size(MPI_COMM_WORLD, &options.ranks);
    int all_answer = progress_thread;
    PMPI_Allreduce(MPI_IN_PLACE, &all_answer, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    options.patience = all_answer ? tcp.patience : std::chrono::seconds(0);
    options.internet = tcp;
    options.rdma_only = any;
    for (const FabricKind& kind : fabrics()) {
        if (any ? !kind.may_have_rdma : network != kind.name) continue;
        std::unique_ptr<Fabric> fabric;
        std::string trouble;
        try {
            fabric = kind.open(options);
        } catch (const Error& error) {
            trouble = error.what();
        }
        std::string why = agree_on_trouble(trouble, self);
        if (why.empty()) {
            try {
                fabric->join(exchange_introductions(*fabric), self, agree_on_key(self));
            } catch (const Error& error) {
                trouble = error.what();
            }
            why = agree_on_trouble(trouble, self);
        }
        if (why.empty()) return fabric;
        refused.push_back({kind.name, why});
    }
    return nullptr;
}

void leave_fabric(Fabric& fabric, std::chrono::seconds patience) {
    const auto end = std::chrono::steady_clock::now() + patience;
    while (!fabric.flush() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    MPI_Request all_have_left = MPI_REQUEST_NULL;
    PMPI_Ibarrier(MPI_COMM_WORLD, &all_have_left);
    for (int complete = 0; !complete;) {
        PMPI_Test(&all_have_left, &complete, MPI_STATUS_IGNORE);
        if (!fabric.progress()) std::this_thread::yield();
    }
}

}  // namespace lapwing
