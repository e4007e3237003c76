// Problems, lists, queues and chains as JSON.
#pragma once

#include <nlohmann/json.hpp>

#include "collectives/algorithm.hpp"
#include "task/chains.hpp"
#include "task/list.hpp"
#include "task/lowering.hpp"

namespace lapwing::tool {

using Json = nlohmann::ordered_json;

Json to_json(const Problem& problem);
Json to_json(const Choice& choice);
Json to_json(const List& list);
Json to_json(const Queues& queues);
Json to_json(const Chains& chains);

}  // namespace lapwing::tool
