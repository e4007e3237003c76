// The engines and the shared memory of this host, for `lapwing info` and `lapwing doctor`.
#pragma once

#include <nlohmann/json.hpp>
#include <span>

#include "engines/engine.hpp"
#include "links/shm/node.hpp"

namespace lapwing::tool {

// Each engine's name, summary and availability, with the reason if it is unavailable.
nlohmann::ordered_json engines_as_json(std::span<const Engine* const> engines);

// How two ranks of this host would exchange messages under the present variables: tried with a child process.
// Long messages are timed if the variables leave the method open, unless `timed` is false.
shm::Survey survey_shared_memory(bool timed = true);

}  // namespace lapwing::tool
