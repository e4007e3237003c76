// The job's network: what the processes of MPI_COMM_WORLD agree on in MPI_Init, so that groups can have
// connections of their own.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/settings.hpp"
#include "engines/engine.hpp"
#include "engines/mlx5/probe.hpp"
#include "engines/progress_thread.hpp"
#include "links/shm/node.hpp"
#include "links/tcp/endpoint.hpp"
#include "mpi/job/fabric_choice.hpp"
#include "mpi/job/rank_locations.hpp"
#include "plan/options.hpp"

namespace lapwing {

// What a job does without, and why; empty: it has it, or does not want it. Equal on all ranks.
struct Missing {
    std::string engine;         // that was asked for, or needs connections
    std::string why_no_engine;  // that engine is not used
    std::string card;           // for the mlx5 engine
    std::string shared_memory;  // between ranks of one host
    std::string single_copies;  // of long messages inside a host: they pass through the memory, in pieces
    std::vector<NetworkRefused> networks;  // between hosts
};

class Network {
  public:
    // Makes the memory that ranks of one host may share, and gives back what the others must know of it; for
    // Places::exchange(). `engine` is the one that was asked for. Throws Error (invalid_argument) for a
    // setting that cannot be.
    shm::ShmAddress open(const Settings& settings, const std::string& engine);
    // Collective over MPI_COMM_WORLD, after open(): lets the ranks of one host share memory, and makes what
    // joins hosts: an endpoint of a fabric, or one for connections, with the job's key. Rank 0 says on
    // standard error what was asked for and cannot be had.
    void start(const RankLocations& locations, std::span<const shm::ShmAddress> memories);
    // Collective, too.
    void stop();

    const Missing& missing() const { return missing_; }
    // The engine that was asked for; auto, where that needs a card that some rank has not. Equal on all
    // ranks.
    const std::string& engine() const { return engine_; }
    bool runs() const { return endpoint_ != nullptr; }
    // What joins hosts, for people: "ucx (UCX 1.13.1, tcp on eth0)"; empty where all ranks are on one.
    const std::string& joined_by() const { return joined_by_; }
    // Whether that is the native MPI, and whether a thread may run lists while the program computes.
    bool goes_by_native_mpi() const { return by_native_mpi_; }
    bool may_have_thread() const { return chosen_.may_have_progress_thread(); }
    // The fabric that does; null: none, but connections or the native MPI.
    Fabric* fabric() const { return fabric_.get(); }
    // What the network does by itself, for the triggered engine; null: nobody has asked for it, or some rank
    // has none.
    DeferredWork* deferred_work() const { return deferred_work_.get(); }
    // Memory that ranks of one host share; null: there is none.
    shm::ShmNode* node() const { return node_.get(); }
    // Who moves the lists in that memory and in the fabric beside the program; null: the program's calls
    // alone do.
    ProgressThread* progress_thread() const { return progress_thread_.get(); }

    // The card that runs lists, where the job asks for that and all ranks have one; null otherwise.
    mlx5::Device* card() const { return card_.device.get(); }
    const WorkVariant* card_variant() const { return card_.variant; }

    // The places in MPI_COMM_WORLD of a communicator's ranks; empty when one of them is not in it.
    std::vector<int> members(MPI_Comm communicator, int ranks) const;

    // A group's number: its rank 0 draws it.
    std::uint64_t draw_number();
    static constexpr std::uint64_t number_of_world = 1;

    // Sets descriptors aside for a group's connections. False when there are too few; says so once.
    bool reserve_descriptors(int ranks, int lanes);
    void give_back_descriptors(int ranks, int lanes);
    // The same for its counters of deferred work, of which it may take so many.
    bool reserve_counters(int ranks);
    void give_back_counters(int ranks);
    std::uint64_t counters_of(int ranks) const;
    std::uint64_t kept_counters_of(int ranks) const;  // of persistent collectives
    int lanes() const { return chosen_.lanes; }       // that collectives take in turn
    // Those that persistent collectives may keep, besides, as long as descriptors last.
    static constexpr int kept_lanes = 32;

    std::unique_ptr<Connections> connect(std::uint64_t number, std::vector<int> members, int rank);
    // What the variables say of how engines shall use the connections.
    const EngineOptions& engine_options() const { return chosen_.engine_options; }

  private:
    void open_card();
    void open_fabric();
    void open_tcp_fabric(bool several_hosts);
    bool any_rank_wants_progress_thread() const;
    void share_memory(std::span<const shm::ShmAddress> memories);
    bool wants_progress_thread() const;
    void say_what_is_missing(bool several_hosts) const;
    void connect_hosts(bool several_hosts);
    void find_deferred_work(const RankLocations& locations);

    std::string engine_ = "mpi";
    NetworkSettings chosen_;
    std::string joined_by_;
    bool by_native_mpi_ = false;
    std::unique_ptr<tcp::Endpoint> endpoint_;
    mlx5::OpenedCard card_;
    std::unique_ptr<Fabric> fabric_;
    std::unique_ptr<DeferredWork> deferred_work_;
    std::unique_ptr<WakePipe> pipe_;  // of the progress thread, where there is a fabric
    std::unique_ptr<shm::ShmNode> node_;
    Missing missing_;
    std::unique_ptr<ProgressThread> progress_thread_;
    int self_ = 0;
    int ranks_ = 1;
    std::uint64_t numbers_ = 0;
    std::uint64_t free_at_start_ = 0;  // descriptors
    std::uint64_t reserved_ = 0;
    bool told_ = false;
    bool told_of_counters_ = false;
};

}  // namespace lapwing
