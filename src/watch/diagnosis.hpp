// What the snapshots of all ranks of a job say together: which ranks have not entered a collective, which
// calls do not match, who waits for whom. Pure functions of data: no input, no output, no clock.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "watch/finding.hpp"
#include "watch/snapshot.hpp"

namespace lapwing::watch {

// The causes before their consequences; empty if all ranks answer and none waits for another one. `answers`:
// by rank. Ranks that wait only because of another finding are in no finding.
std::vector<Finding> diagnose(std::span<const RankSnapshot> answers);

// For people: the findings, then each communicator with its collectives in flight and the ranks that have not
// entered, then each rank with the call that it is in. Long runs of equal ranks take one line.
std::string in_words(std::span<const RankSnapshot> answers, std::span<const Finding> findings);
// The same for tools: docs/reference describes the keys.
std::string as_json(std::span<const RankSnapshot> answers, std::span<const Finding> findings);

}  // namespace lapwing::watch
