// Tests which addresses and ports of the other hosts a host reaches, and how fast, by one agent on each host.
// The connections are made as Lapwing makes them, with handshake.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>

#include "lapwing/doctor/reach_task.hpp"
#include "links/tcp/options.hpp"

namespace lapwing::tool {

// Tries to reach all other members. Reports first
//   {"self": 1, "tried": 6, "reached": [2],
//    "failures": [{"to": 2, "place": "4/24/0a4d0003", "port": 33000, "why": "no answer within 2 s",
//                  "silent": true, "reached": "nothing"}]}     (of that member; or "other port", "other
//                  address")
// and then
//   {"self": 1, "measured": [{"to": 2, "place": ..., "round_trip_us": ..., "sends_mbit_per_s": ...,
//                             "receives_mbit_per_s": ..., "clock_us": ..., "clock_error_us": ...}]}
// or {"wrong": ...}.
void reach(const ReachTask& task, const tcp::Options& options,
           const std::function<void(const nlohmann::json&)>& tell);

}  // namespace lapwing::tool
