// The job's network: what the processes of MPI_COMM_WORLD agree on in MPI_Init, so that groups can have
// connections of their own.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/settings.hpp"
#include "engines/engine.hpp"
#include "engines/helper.hpp"
#include "links/shm.hpp"
#include "links/tcp.hpp"

namespace lapwing {

struct NetworkSettings;

// One rank's trouble, told to all: "rank 3 (node2): ..." of the lowest rank that has one, empty when none
// has. Collective over MPI_COMM_WORLD.
std::string agree_on_trouble(const std::string& mine, int self);

class Network {
  public:
    // Collective over MPI_COMM_WORLD: finds out which ranks are on one host, lets those share memory, and
    // makes the endpoint for connections between hosts, with the job's key. `engine` is the one that was
    // asked for. Throws Error (invalid_argument) for a setting that cannot be.
    void start(const Settings& settings, const std::string& engine, bool several_hosts);
    void stop();

    // Why there are no connections; empty when there are, or when the engine that was asked for needs none.
    const std::string& why_not() const { return why_not_; }
    bool runs() const { return endpoint_ != nullptr; }
    // Memory that ranks of one host share; null: there is none.
    shm::Station* station() const { return station_.get(); }
    // Who moves the lists in that memory beside the program; null: the program's calls alone do.
    Helper* helper() const { return helper_.get(); }

    // The places in MPI_COMM_WORLD of a communicator's ranks; empty when one of them is not in it.
    std::vector<int> members(MPI_Comm communicator, int ranks) const;

    // A group's number: its rank 0 draws it.
    std::uint64_t draw_number();
    static constexpr std::uint64_t number_of_world = 1;

    // Sets descriptors aside for a group's connections. False when there are too few; says so once.
    bool reserve_descriptors(int ranks, int lanes);
    void give_back_descriptors(int ranks, int lanes);
    int lanes() const { return lanes_; }  // that collectives take in turn
    // Those that persistent collectives may keep, besides, as long as descriptors last.
    static constexpr int kept_lanes = 32;

    std::unique_ptr<Connections> connect(std::uint64_t number, std::vector<int> members, int rank);
    // What the variables say of how engines shall use the connections.
    const Ground& wishes() const { return wishes_; }

  private:
    void meet(const NetworkSettings& chosen);
    void connect_hosts(const NetworkSettings& chosen, const std::string& engine, bool several_hosts);
    void raise_limit(std::uint64_t by);

    std::unique_ptr<tcp::Endpoint> endpoint_;
    std::unique_ptr<shm::Station> station_;
    std::unique_ptr<Helper> helper_;
    std::string why_not_;
    Ground wishes_;
    int lanes_ = 1;
    int self_ = 0;
    int ranks_ = 1;
    std::uint64_t numbers_ = 0;
    std::uint64_t free_at_start_ = 0;  // descriptors
    std::uint64_t reserved_ = 0;
    bool told_ = false;
};

}  // namespace lapwing
