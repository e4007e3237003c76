// Random nonblocking collectives by the program's functions, and blocking ones by the MPI's own, compared
// byte for byte.
//   fuzz-<mpi> [SEED [SEQUENCES [device]]]
// Each sequence starts up to twelve collectives at once, some of them persistent, each rank in an order of
// its own, and completes them in any of the ways that MPI has, together with messages; persistent ones are
// started up to three times. With "device" half of the buffers of all ranks but the last are in the memory of
// a device, which is a double (tests/device/doubles/).
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "completion_calls.hpp"
#include "fuzz/operations.hpp"

namespace {

using namespace fuzz;

using Requests = std::vector<MPI_Request>;

// By any call for all of them. Which of them are complete afterwards: those without an operation are from the
// beginning.
std::vector<bool> complete_some(Requests& some, Random& random) {
    std::vector<bool> done(some.size(), false);
    std::vector<MPI_Status> statuses;
    const auto call = static_cast<CompletionCall>(random.below(completion_calls));
    for (const int index : complete_by(call, some, random.one_in(2) ? &statuses : nullptr))
        if (index == MPI_UNDEFINED)
            done.assign(done.size(), true);
        else
            done[static_cast<std::size_t>(index)] = true;
    return done;
}

// Completes requests by every call that MPI has for all or some of them, each rank in an order of its own.
// Null and inactive requests may be among them.
void complete(Requests& all, Random& random) {
    std::vector<std::size_t> left(all.size());
    std::iota(left.begin(), left.end(), std::size_t{0});
    random.shuffle(left);
    while (!left.empty()) {
        const int count = random.one_in(3) ? static_cast<int>(left.size())
                                           : random.between(1, static_cast<int>(left.size()));
        Requests some;
        for (int i = 0; i < count; ++i) some.push_back(all[left[static_cast<std::size_t>(i)]]);
        const std::vector<bool> done = complete_some(some, random);
        std::vector<std::size_t> still;
        for (std::size_t i = 0; i < left.size(); ++i) {
            if (i < some.size()) all[left[i]] = some[i];
            if (i >= some.size() || !done[i]) still.push_back(left[i]);
        }
        left = still;
    }
}

Place place_of(MPI_Comm communicator, std::string name) {
    Place place;
    place.communicator = communicator;
    place.name = std::move(name);
    MPI_Comm_rank(communicator, &place.rank);
    MPI_Comm_size(communicator, &place.ranks);
    int topology = MPI_UNDEFINED;
    MPI_Topo_test(communicator, &topology);
    place.has_neighbors = topology != MPI_UNDEFINED;
    // On a ring of two, functions of one MPI differ: neighbors.cpp.
    if (topology == MPI_CART && place.ranks < 3) place.has_neighbors = false;
    return place;
}

// Without parallel edges: MPICH lets the last of them meet the first.
MPI_Comm random_graph(int rank, int ranks) {
    Random random(5);
    std::set<std::pair<int, int>> edges;
    std::vector<int> sources;
    std::vector<int> destinations;
    for (int i = 0; i < 3 * ranks; ++i) {
        const int from = random.below(ranks);
        const int to = random.below(ranks);
        if (!edges.emplace(from, to).second) continue;
        if (from == rank) destinations.push_back(to);
        if (to == rank) sources.push_back(from);
    }
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, static_cast<int>(sources.size()), sources.data(),
                                   MPI_UNWEIGHTED, static_cast<int>(destinations.size()), destinations.data(),
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made);
    return made;
}

// Every rank is in one of each.
std::vector<Place> make_places() {
    int rank = 0;
    int ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm made = MPI_COMM_NULL;
    std::vector<Place> places = {place_of(MPI_COMM_WORLD, "MPI_COMM_WORLD")};
    MPI_Comm_dup(MPI_COMM_WORLD, &made);
    places.push_back(place_of(made, "a duplicate"));
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &made);
    places.push_back(place_of(made, "every second rank, backwards"));
    MPI_Comm_split(MPI_COMM_WORLD, 0, (rank * 7) % ranks, &made);
    places.push_back(place_of(made, "all ranks, mixed"));
    const int line_periods[1] = {1};
    MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, line_periods, 0, &made);
    places.push_back(place_of(made, "a ring"));
    int sizes[2] = {0, 0};
    MPI_Dims_create(ranks, 2, sizes);
    const int periods[2] = {0, 0};
    MPI_Cart_create(MPI_COMM_WORLD, 2, sizes, periods, 0, &made);
    places.push_back(place_of(made, "a grid"));
    places.push_back(place_of(random_graph(rank, ranks), "a graph"));
    return places;
}

// How many collectives this rank has started by the program's functions.
long long calls_made = 0;

// Open MPI duplicates the communicator with the lowest context number first. Over its messages, Lapwing
// requests a duplicate when a communicator is first used, and ranks that first use two new communicators in
// different orders wait for each other (docs/compatibility.md).
void use_once(const std::vector<Place>& places) {
#ifdef OPEN_MPI
    const char* shared_memory = std::getenv("LAPWING_SHARED_MEMORY");
    if (shared_memory == nullptr || std::string(shared_memory) != "0") return;
    for (const Place& place : places) {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Ibarrier(place.communicator, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        ++calls_made;
    }
#else
    static_cast<void>(places);
#endif
}

// An exchange of the program's own beside the collectives, and a null request: the calls that complete
// requests get arrays with both. On MPI_COMM_WORLD.
class Message {
  public:
    Message(int rank, int ranks, int value) : sent_(value * 100 + rank) {
        const int from = (rank + ranks - 1) % ranks;
        expected_ = value * 100 + from;
        MPI_Irecv(&received_, 1, MPI_INT, from, tag, MPI_COMM_WORLD, &requests_[0]);
        MPI_Isend(&sent_, 1, MPI_INT, (rank + 1) % ranks, tag, MPI_COMM_WORLD, &requests_[1]);
    }
    Message(const Message&) = delete;
    Message& operator=(const Message&) = delete;
    void add_to(std::vector<MPI_Request>& requests, Random& random) const {
        for (const MPI_Request request : requests_) {
            const auto place = random.below(static_cast<int>(requests.size()) + 1);
            requests.insert(requests.begin() + place, request);
        }
    }
    bool right() const { return received_ == expected_; }

  private:
    static constexpr int tag = 17;
    int sent_;
    int received_ = -1;
    int expected_;
    MPI_Request requests_[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
};

bool is_same(const std::vector<std::unique_ptr<Operation>>& operations, std::uint64_t seed, int rank) {
    for (const auto& operation : operations) {
        const std::string difference = operation->difference();
        if (difference.empty()) continue;
        std::printf("rank %d, seed %llu: %s: %s\n", rank, static_cast<unsigned long long>(seed),
                    operation->what().c_str(), difference.c_str());
        std::fflush(stdout);
        return false;
    }
    return true;
}

// An order of this rank's own. On one communicator it is the same on all ranks, and persistent collectives,
// whose making may wait for the others, are made in the same order everywhere.
std::vector<std::size_t> start_order(const std::vector<MPI_Comm>& communicators,
                                     const std::vector<bool>& persistent, Random& random) {
    std::vector<std::size_t> order;
    std::vector<bool> started(communicators.size(), false);
    while (order.size() < communicators.size()) {
        std::vector<std::size_t> ready;
        for (std::size_t i = 0; i < communicators.size(); ++i) {
            bool waits = started[i];
            for (std::size_t before = 0; before < i && !waits; ++before) {
                waits = !started[before] &&
                        (communicators[before] == communicators[i] || (persistent[before] && persistent[i]));
            }
            if (!waits) ready.push_back(i);
        }
        order.push_back(random.pick(ready));
        started[order.back()] = true;
    }
    return order;
}

// False, and told, when something differs.
bool run(const std::vector<Place>& places, std::uint64_t seed, int rank) {
    Random random(seed);
    Random own_random(seed * 1000 + static_cast<std::uint64_t>(rank));
    std::vector<std::unique_ptr<Operation>> operations;
    std::vector<MPI_Request> requests;
    const int count = random.one_in(8) ? random.between(5, 12) : random.between(1, 4);
    std::vector<MPI_Comm> communicators;
    for (int i = 0; i < count; ++i) {
        // All ranks of the world draw alike; who is in another half draws for another group, at the same
        // place.
        const Place& place = random.pick(places);
        Random of_operation(seed * 16 + static_cast<std::uint64_t>(i));
        operations.push_back(std::make_unique<Operation>(place, of_operation));
        communicators.push_back(place.communicator);
    }
    const bool mpi_first = random.one_in(2);
    std::vector<bool> persistent;
    for (int i = 0; i < count; ++i) persistent.push_back(random.one_in(2));
    const int starts = random.between(1, 3);
    const auto run_by_mpi = [&] {
        for (const auto& operation : operations) operation->run_by_mpi();
    };
    if (mpi_first) run_by_mpi();
    std::vector<MPI_Request> inactive;
    requests.assign(operations.size(), MPI_REQUEST_NULL);
    for (const std::size_t i : start_order(communicators, persistent, own_random)) {
        if (persistent[i]) {
            operations[i]->make_persistent(&requests[i]);
            inactive.push_back(requests[i]);
        } else {
            operations[i]->start(&requests[i]);
        }
    }
    calls_made += count;
    if (mpi_first && own_random.one_in(2))
        for (const auto& operation : operations) operation->forget_arguments();
    // Each rank starts them in an order of its own.
    if (own_random.one_in(2)) std::reverse(inactive.begin(), inactive.end());
    if (!inactive.empty()) MPI_Startall(static_cast<int>(inactive.size()), inactive.data());
    std::unique_ptr<Message> message;
    if (random.one_in(3)) {
        message = std::make_unique<Message>(rank, places.front().ranks, static_cast<int>(seed % 1000));
        message->add_to(requests, own_random);
    }
    complete(requests, own_random);
    if (!mpi_first) run_by_mpi();
    bool same = is_same(operations, seed, rank);
    if (message != nullptr && !message->right()) {
        std::printf("rank %d, seed %llu: a message is wrong\n", rank, static_cast<unsigned long long>(seed));
        same = false;
    }
    for (int start = 1; start < starts && same && !inactive.empty(); ++start) {
        // The MPI's own functions cannot use again what a rank has freed.
        for (std::size_t i = 0; i < operations.size(); ++i)
            if (persistent[i]) mpi_first ? operations[i]->rewind() : operations[i]->refill(start);
        for (MPI_Request& request : inactive) MPI_Start(&request);
        calls_made += static_cast<long long>(inactive.size());
        complete(inactive, own_random);
        for (std::size_t i = 0; i < operations.size(); ++i)
            if (persistent[i] && !mpi_first) operations[i]->run_by_mpi();
        same = is_same(operations, seed, rank);
    }
    for (MPI_Request& request : inactive) MPI_Request_free(&request);
    return same;
}

}  // namespace

int main(int argc, char** argv) {
    const std::uint64_t first = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1;
    const int sequences = argc > 2 ? std::atoi(argv[2]) : 100;
    MPI_Init(&argc, &argv);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    std::vector<Place> places = make_places();
    // The last rank of several has no driver.
    const int ranks = places.front().ranks;
    if (argc > 3 && std::string(argv[3]) == "device" && (rank + 1 < ranks || ranks == 1))
        Operation::use_device();
    use_once(places);
    for (int done = 0; done < sequences; ++done)
        if (!run(places, first + static_cast<std::uint64_t>(done), rank)) MPI_Abort(MPI_COMM_WORLD, 1);
    long long all_calls = 0;
    PMPI_Reduce(&calls_made, &all_calls, 1, MPI_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) std::printf("%d sequences, %lld calls, nothing differs\n", sequences, all_calls);
    for (Place& place : places)
        if (place.communicator != MPI_COMM_WORLD) MPI_Comm_free(&place.communicator);
    MPI_Finalize();
    return 0;
}
