// What this host lets Lapwing use, for `lapwing info` and `lapwing doctor`.
#pragma once

#include <nlohmann/json.hpp>

#include "links/shm/node.hpp"

namespace lapwing::tool {

// For each engine its name, summary, whether it is available, and the reason if it is not.
nlohmann::ordered_json engines_as_json();

// How two ranks of this host would exchange messages, as the variables have it: tried out with a child
// process. Long messages are timed where the variables leave the choice, unless `timed` is false.
shm::Survey survey_shared_memory(bool timed = true);

}  // namespace lapwing::tool
