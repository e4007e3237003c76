// The parts of commands that need the mlx5 engine. A build without the engine has without_engine.cpp in their
// place.
#pragma once

#include <span>
#include <string>

#include "collectives/algorithm.hpp"

namespace lapwing::tool {

// `lapwing doctor --nic`: examines the cards of this host, or the card of that name. Prints a transcript to
// send in. Returns the tool's exit status.
int examine_nics(const std::string& name, bool json);

// `lapwing explain --level wqe`: the work-queue entries of lists, byte by byte. `shown`: lists of some ranks.
// `variant`: empty for the first. Throws Error (unsupported) for a list that has no work queues,
// (invalid_argument) for an unknown variant.
std::string print_work_queues(const Problem& problem, const Choice& choice, std::span<const List> shown,
                              const std::string& variant);

}  // namespace lapwing::tool
