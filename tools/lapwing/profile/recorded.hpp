// Recordings of programs: what `lapwing profile --record` does before and after the job, and what
// `lapwing profile --show` prints.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "recording/recording.hpp"

namespace lapwing::tool {

// Makes the directory of a recording, or accepts an empty one. Throws Error (system).
void make_recording_directory(const std::string& directory);

// Writes job.json. Returns a sentence on what was recorded. Throws Error (system) if no rank has left a
// recording.
std::string finish_recording(const std::string& directory, const std::vector<std::string>& command,
                             int status);

// "ranks 0-3 shared 2 of 8 CPUs"; a summary of many groups.
std::string print_shared(const std::vector<recording::SharedProcessors>& groups);

// The folded sequences of all ranks, with source lines.
std::string print_recording(const recording::Recording& recording);
nlohmann::ordered_json recording_as_json(const recording::Recording& recording);

}  // namespace lapwing::tool
