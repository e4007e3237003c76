#include "lapwing/timeline/trace_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>

#include "base/error.hpp"

namespace lapwing::tool {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using trace::Event;

[[noreturn]] void refuse(const fs::path& file, const char* why) {
    throw Error(ErrorCode::system, fmt::format("a part of the trace, {}: {}", file.string(), why));
}

// "12.0.events", "12.facts": 12.
std::optional<int> rank_of(const std::string& name) {
    int rank = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), rank);
    if (error != std::errc() || *end != '.' || rank < 0) return std::nullopt;
    return rank;
}

void read_facts(const fs::path& file, RankPart& part) {
    std::ifstream in(file);
    if (!in) refuse(file, std::strerror(errno));
    for (std::string line; std::getline(in, line);) {
        Json fact = Json::parse(line, nullptr, false);
        // The last one of a rank that was killed may be half a line.
        if (!fact.is_object() || !fact.contains("fact")) continue;
        const std::string kind = fact["fact"];
        const std::uint64_t number = fact.value("number", std::uint64_t{0});
        if (kind == "rank") {
            part.about = std::move(fact);
        } else if (kind == "group") {
            part.groups[number] = std::move(fact);
        } else if (kind == "plan") {
            part.plans[number] = std::move(fact);
        } else if (kind == "thread") {
            part.threads[number] = fact.value("lapwing", false);
        } else if (kind == "clock") {
            part.ended = part.ended || fact.value("when", "") == "end";
            part.clocks.push_back(std::move(fact));
        } else if (kind == "site") {
            part.sites[number] = std::move(fact);
        } else if (kind == "messages") {
            part.messages.push_back(std::move(fact));
        }
    }
}

void read_events(const fs::path& file, RankPart& part) {
    std::ifstream in(file, std::ios::binary);
    if (!in) refuse(file, std::strerror(errno));
    trace::Header header;
    in.read(reinterpret_cast<char*>(&header.magic), sizeof header.magic);
    in.read(reinterpret_cast<char*>(&header.capacity), sizeof header.capacity);
    std::uint64_t written = 0;
    in.read(reinterpret_cast<char*>(&written), sizeof written);
    if (!in || header.magic == 0) return;  // killed while it was made
    const bool counts_only = header.capacity == 0;
    if (header.magic != trace::Header::magic_value ||
        fs::file_size(file) < trace::Header::events_at + header.capacity * sizeof(Event)) {
        refuse(file, "another version of Lapwing wrote it");
    }
    if (counts_only) {
        part.dropped += written;
        return;
    }
    // The rank may have been killed while it wrote over the oldest one.
    const std::uint64_t kept = written <= header.capacity ? written : header.capacity - 1;
    part.dropped += written - kept;
    std::vector<Event> ring(std::min(written, header.capacity));
    in.seekg(trace::Header::events_at);
    in.read(reinterpret_cast<char*>(ring.data()), static_cast<std::streamsize>(ring.size() * sizeof(Event)));
    if (!in) refuse(file, "it is truncated");
    for (std::uint64_t n = written - kept; n < written; ++n) {
        const Event& event = ring[n % header.capacity];
        if (event.what <= trace::last_what && event.began <= event.ended && event.began != 0)
            part.events.push_back(event);
    }
}

}  // namespace

double RankPart::aligned(std::uint64_t nanoseconds) const {
    const auto time = static_cast<double>(nanoseconds);
    if (clocks.empty()) return time;
    const auto offset = [&](const Json& reading) { return reading.at("offset").get<double>(); };
    const Json& first = clocks.front();
    const Json& last = clocks.back();
    const auto begin = first.at("at").get<double>();
    const auto end = last.at("at").get<double>();
    if (end <= begin) return time + offset(first);
    return time + offset(first) + (offset(last) - offset(first)) * (time - begin) / (end - begin);
}

std::uint64_t RankPart::clock_error() const {
    std::uint64_t most = 0;
    for (const Json& reading : clocks) most = std::max(most, reading.at("error").get<std::uint64_t>());
    return most;
}

std::vector<RankPart> read_trace_parts(const std::string& directory) {
    std::map<int, RankPart> parts;
    for (const fs::directory_entry& entry : fs::directory_iterator(directory)) {
        const std::string name = entry.path().filename();
        const std::optional<int> rank = rank_of(name);
        if (!rank) continue;
        RankPart& part = parts[*rank];
        part.rank = *rank;
        if (name.ends_with(".facts")) read_facts(entry.path(), part);
        if (name.ends_with(".events")) read_events(entry.path(), part);
    }
    std::vector<RankPart> result;
    for (auto& [rank, part] : parts) {
        if (part.about.is_object()) result.push_back(std::move(part));
    }
    return result;
}

}  // namespace lapwing::tool
