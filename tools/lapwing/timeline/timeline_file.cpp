#include "lapwing/timeline/timeline_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace lapwing::tool {
namespace {

using Json = nlohmann::ordered_json;

std::string print(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json clock_of(const RankPart& part) {
    Json json = {{"rank", part.rank}, {"host", part.about.value("host", "?")}};
    if (part.clocks.empty()) {
        json["aligned"] = "not";
        return json;
    }
    const Json& leader = part.clocks.front().at("host_leader");
    json["measured_by_rank"] = leader;
    json["aligned"] = leader == 0               ? "it is the clock of rank 0"
                      : part.clocks.size() == 1 ? "by the offset at the beginning"
                                                : "by the offsets at the beginning and at the end";
    for (const Json& reading : part.clocks) {
        json["offsets"].push_back({{"at_us", reading.at("at").get<double>() * 1e-3},
                                   {"offset_us", reading.at("offset").get<double>() * 1e-3},
                                   {"error_us", reading.at("error").get<double>() * 1e-3}});
    }
    return json;
}

Json about_trace(const std::vector<RankPart>& parts) {
    Json about;
    Json clocks = Json::array();
    Json dropped = Json::object();
    Json not_ended = Json::array();
    std::uint64_t error = 0;
    for (const RankPart& part : parts) {
        error = std::max(error, part.clock_error());
        clocks.push_back(clock_of(part));
        if (part.dropped > 0) dropped[std::to_string(part.rank)] = part.dropped;
        if (!part.ended) not_ended.push_back(part.rank);
    }
    if (!parts.empty()) {
        for (const char* key : {"lapwing", "mpi", "ranks", "engine"})
            about[key] = parts[0].about.value(key, Json());
    }
    about["clock_error_us"] = static_cast<double>(error) * 1e-3;
    about["clock_error_is"] =
        "half the shortest round trip of a message to rank 0; times within one host have no such error";
    about["clocks"] = clocks;
    about["dropped_events"] = dropped;
    about["ranks_without_end"] = not_ended;
    return about;
}

double first_time(const std::vector<RankPart>& parts) {
    double first = std::numeric_limits<double>::max();
    for (const RankPart& part : parts) {
        for (const trace::Event& event : part.events) first = std::min(first, part.aligned(event.began));
    }
    return first == std::numeric_limits<double>::max() ? 0 : first;
}

}  // namespace

TimelineFile::TimelineFile(const std::vector<RankPart>& parts, const std::string& file)
    : out_(file, "the timeline"), zero_(first_time(parts)) {
    out_.write(fmt::format("{{\"displayTimeUnit\":\"ns\",\n\"otherData\":{},\n\"traceEvents\":[",
                           print(about_trace(parts))));
}

void TimelineFile::rank(const RankPart& part) {
    write_name(part.rank, -1, "process",
               fmt::format("rank {} ({})", part.rank, part.about.value("host", "?")), part.rank);
}

void TimelineFile::track(const RankPart& part, int track, const std::string& name) {
    write_name(part.rank, track, "thread", name, track);
}

void TimelineFile::slice(const RankPart& part, Slice slice) {
    const double began = time(part, slice.began);
    // Rounding must not move the end of a slice beyond the slice that contains it.
    const double length = std::round((time(part, slice.ended) - began) * 1000) / 1000;
    write({{"ph", "X"},
           {"name", slice.name},
           {"cat", slice.category},
           {"pid", part.rank},
           {"tid", slice.track},
           {"ts", began},
           {"dur", length},
           {"args", std::move(slice.arguments)}});
}

void TimelineFile::arrow(const ArrowEnd& from, const ArrowEnd& to) {
    const double sent = time(*from.part, from.time);
    const double arrived = time(*to.part, to.time);
    if (arrived < sent) return;
    ++arrows_;
    const auto end = [&](const ArrowEnd& at, const char* phase, double moment) {
        return Json{{"ph", phase},          {"id", arrows_},   {"name", "message"}, {"cat", "message"},
                    {"pid", at.part->rank}, {"tid", at.track}, {"ts", moment}};
    };
    write(end(from, "s", sent));
    Json finish = end(to, "f", arrived);
    finish["bp"] = "e";
    write(finish);
}

void TimelineFile::close() {
    out_.write("\n]}\n");
    out_.close();
}

// Microseconds from the first event of all, to the nanosecond.
double TimelineFile::time(const RankPart& part, std::uint64_t nanoseconds) const {
    return std::round(part.aligned(nanoseconds) - zero_) / 1000;
}

void TimelineFile::write_name(int rank, int track, const char* what, const std::string& name, int order) {
    Json about = {{"ph", "M"}, {"name", fmt::format("{}_name", what)}, {"pid", rank}};
    if (track >= 0) about["tid"] = track;
    about["args"] = {{"name", name}};
    write(about);
    about["name"] = fmt::format("{}_sort_index", what);
    about["args"] = {{"sort_index", order}};
    write(about);
}

void TimelineFile::write(const Json& json) {
    out_.write(fmt::format("{}{}", first_ ? "\n" : ",\n", print(json)));
    first_ = false;
}

}  // namespace lapwing::tool
