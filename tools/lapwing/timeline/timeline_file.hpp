// A timeline in the Trace Event format, which Perfetto and Chrome open.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lapwing/common/output_file.hpp"
#include "lapwing/timeline/trace_parts.hpp"

namespace lapwing::tool {

// An interval on a track of a rank. Slices of one track are nested or apart.
struct Slice {
    int track = 0;
    std::string name;
    const char* category = "";  // "call", "wait", "collective", "task", "chain"
    std::uint64_t began = 0;    // as in trace::Event
    std::uint64_t ended = 0;
    nlohmann::ordered_json arguments;
};

// One end of an arrow from a send to the receive of its bytes.
struct ArrowEnd {
    const RankPart* part = nullptr;
    int track = 0;
    std::uint64_t time = 0;  // as in trace::Event
};

// Writes each event to the file at once. A rank and its tracks are named before their slices, which may come
// in any order; arrows come after all ranks. Functions throw Error (system) if the file cannot be written.
class TimelineFile {
  public:
    TimelineFile(const std::vector<RankPart>& parts, const std::string& file);
    void rank(const RankPart& part);
    void track(const RankPart& part, int track, const std::string& name);
    void slice(const RankPart& part, Slice slice);
    void arrow(const ArrowEnd& from, const ArrowEnd& to);
    void close();

  private:
    double time(const RankPart& part, std::uint64_t nanoseconds) const;
    void write_name(int rank, int track, const char* what, const std::string& name, int order);
    void write(const nlohmann::ordered_json& json);

    OutputFile out_;
    double zero_;  // the time of the first event of all ranks, in nanoseconds by the clock of rank 0's host
    bool first_ = true;
    std::uint64_t arrows_ = 0;
};

}  // namespace lapwing::tool
