// What a timeline shows, and the formats in which it is written.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "lapwing/timeline/tracks.hpp"

namespace lapwing::tool {

// An interval on a track of a rank. Slices of one track are nested or apart.
struct Slice {
    int track = 0;
    std::string name;
    const char* category = "";  // "call", "wait", "collective", "task", "chain"
    std::uint64_t began = 0;    // as in trace::Event
    std::uint64_t ended = 0;
    nlohmann::ordered_json arguments;
    const Operation* operation = nullptr;  // the collective; null: of none, or unknown
    const trace::Event* event = nullptr;   // of the category "call": the call
};

// One end of an arrow from a send to the receive of its bytes.
struct ArrowEnd {
    const RankPart* part = nullptr;
    int track = 0;
    std::uint64_t time = 0;  // as in trace::Event
};

// A format. For each rank: rank(), its tracks, its slices in any order, end_of_rank(). Arrows come after all
// ranks. Functions throw Error (system) if a file cannot be written.
class TimelineWriter {
  public:
    virtual ~TimelineWriter() = default;
    virtual void rank(const RankPart& part) = 0;
    virtual void track(const RankPart& part, int track, const std::string& name) = 0;
    virtual void slice(const RankPart& part, Slice slice) = 0;
    virtual void end_of_rank(const RankPart& part) = 0;
    virtual void arrow(const ArrowEnd& from, const ArrowEnd& to) = 0;
    virtual void close() = 0;
};

// The Trace Event format, which Perfetto and Chrome open.
std::unique_ptr<TimelineWriter> write_perfetto(const std::vector<RankPart>& parts, const std::string& file);

// OTF2 archives, the format of Score-P, Vampir and Scalasca. An archive NAME.otf2 is an anchor file with this
// name, NAME.def and the directory NAME. The library that writes it is loaded at run time.
bool is_otf2(const std::string& file);
// Throws Error: unsupported if there is no library, system if files cannot be written or the directory has
// files of something else.
void require_otf2(const std::string& file);
// Replaces an earlier archive of this name.
std::unique_ptr<TimelineWriter> write_otf2(const std::vector<RankPart>& parts, const std::string& file);

// "MPI_Ialltoall": "MPI_Alltoall"
std::string blocking_name(std::string function);

// The time of the first event of all ranks, in nanoseconds by the clock of rank 0's host; 0: no events.
double first_time(const std::vector<RankPart>& parts);

}  // namespace lapwing::tool
