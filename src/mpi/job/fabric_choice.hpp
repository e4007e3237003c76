// Which fabric joins the hosts of the job.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "links/fabric.hpp"
#include "links/tcp/options.hpp"

namespace lapwing {

// A network that was tried, and why the job does without; equal on all ranks.
struct NetworkRefused {
    std::string name;
    std::string why;
};

// Collective over MPI_COMM_WORLD: the endpoint of this rank, joined with all others, of the fabric called
// `network`; where that is "auto", of the first by which all ranks have RDMA. Null, on all ranks alike, where
// there is none.
// `progress_thread`: whether this rank will have one.
std::unique_ptr<Fabric> choose_fabric(const std::string& network, const tcp::Options& tcp,
                                      bool progress_thread, int self, std::vector<NetworkRefused>& refused);

// Before the end: returns when nothing of any rank is on its way, and nobody needs this rank any more.
// Collective, too.
void leave_fabric(Fabric& fabric, std::chrono::seconds patience);

}  // namespace lapwing
