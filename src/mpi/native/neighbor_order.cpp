#include "mpi/native/neighbor_order.hpp"

#include <algorithm>
#include <array>
#include <mutex>

#include "links/mpi/own_communicator.hpp"

namespace lapwing {
namespace {

// The block sent to the i-th of `all` neighbours meets that from the i-th, the last one, or the opposite one
// in the same dimension of the grid.
enum class Order { unknown, same, reversed, opposite };

std::size_t source_of(Order order, std::size_t i, std::size_t all) {
    if (order == Order::reversed) return all - 1 - i;
    return order == Order::opposite ? i ^ 1 : i;
}

constexpr int edges = 4;
using Blocks = std::array<int, edges>;

// What arrives from this rank's neighbours, all of which are this rank.
Blocks exchange(MPI_Comm alone, NeighborFunction function, bool blocking) {
    const Blocks sent{0, 1, 2, 3};
    const Blocks ones{1, 1, 1, 1};
    const std::array<MPI_Aint, edges> bytes{0, sizeof(int), 2 * sizeof(int), 3 * sizeof(int)};
    const std::array<MPI_Datatype, edges> types{MPI_INT, MPI_INT, MPI_INT, MPI_INT};
    Blocks received{};
    MPI_Request request = MPI_REQUEST_NULL;
    const int* const from = sent.data();
    const int* const all = ones.data();
    int* const to = received.data();
    if (function == NeighborFunction::alltoall) {
        blocking ? PMPI_Neighbor_alltoall(from, 1, MPI_INT, to, 1, MPI_INT, alone)
                 : PMPI_Ineighbor_alltoall(from, 1, MPI_INT, to, 1, MPI_INT, alone, &request);
    } else if (function == NeighborFunction::alltoallv) {
        blocking
            ? PMPI_Neighbor_alltoallv(from, all, from, MPI_INT, to, all, from, MPI_INT, alone)
            : PMPI_Ineighbor_alltoallv(from, all, from, MPI_INT, to, all, from, MPI_INT, alone, &request);
    } else {
        const auto* const at = bytes.data();
        const auto* const of = types.data();
        blocking ? PMPI_Neighbor_alltoallw(from, all, at, of, to, all, at, of, alone)
                 : PMPI_Ineighbor_alltoallw(from, all, at, of, to, all, at, of, alone, &request);
    }
    PMPI_Wait(&request, MPI_STATUS_IGNORE);
    return received;
}

Order try_alone(bool grid, NeighborFunction function, bool blocking) {
    const Blocks self{};
    const Blocks ones{1, 1, 1, 1};
    MPI_Comm alone = MPI_COMM_NULL;
    if (grid)
        PMPI_Cart_create(own_communicator(), edges / 2, ones.data(), ones.data(), 0, &alone);
    else
        PMPI_Dist_graph_create_adjacent(own_communicator(), edges, self.data(), ones.data(), edges,
                                        self.data(), ones.data(), MPI_INFO_NULL, 0, &alone);
    const Blocks received = alone != MPI_COMM_NULL ? exchange(alone, function, blocking) : Blocks{};
    if (alone != MPI_COMM_NULL) PMPI_Comm_free(&alone);
    for (const Order order : {Order::same, Order::reversed}) {
        std::size_t i = 0;
        while (i < edges && received[source_of(order, i, edges)] == static_cast<int>(i)) ++i;
        if (i == edges) return order;
    }
    return grid ? Order::opposite : Order::same;  // the standard's
}

bool any_twice(std::vector<int> ranks) {
    std::erase(ranks, MPI_PROC_NULL);
    std::ranges::sort(ranks);
    return std::ranges::adjacent_find(ranks) != ranks.end();
}

std::mutex orders_mutex;
Order orders[2][3][2];

}  // namespace

std::vector<std::size_t> order_of_mpi(const TopologyNeighbors& neighbors, MPI_Comm communicator,
                                      NeighborFunction function, bool blocking) {
    if (!any_twice(neighbors.sources)) return {};
    int topology = MPI_UNDEFINED;
    PMPI_Topo_test(communicator, &topology);
    const bool grid = topology == MPI_CART;
    const std::lock_guard lock(orders_mutex);
    Order& order = orders[grid][static_cast<int>(function)][blocking];
    if (order == Order::unknown) order = try_alone(grid, function, blocking);
    std::vector<std::size_t> arrivals(neighbors.sources.size());
    for (std::size_t i = 0; i < arrivals.size(); ++i) arrivals[i] = source_of(order, i, arrivals.size());
    return arrivals;
}

}  // namespace lapwing
