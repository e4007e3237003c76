// Which fabric joins the hosts of a job.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engines/job.hpp"
#include "links/fabric.hpp"

namespace lapwing {

// Something that a job does without, and why. Equal on all ranks.
struct Unavailable {
    std::string name;
    std::string why;
    bool by_choice = false;  // something better takes its place
};

// Collective over the job. Opens the fabric called `network`, or for "auto" the first one that gives all
// ranks RDMA, and joins it with all ranks. Returns null, on all ranks, if there is none; adds the fabrics
// that were tried to `refused`.
std::unique_ptr<Fabric> choose_fabric(Job& job, const std::string& network,
                                      std::vector<Unavailable>& refused);

// Collective, at the end of the job: returns when nothing from any rank is on its way, and no rank needs this
// one any more. Calls `meanwhile` again and again until then.
void leave_fabric(Job& job, Fabric& fabric, const std::function<void()>& meanwhile);

}  // namespace lapwing
