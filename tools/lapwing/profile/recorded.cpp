#include "lapwing/profile/recorded.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "base/error.hpp"
#include "base/output_file.hpp"
#include "base/values.hpp"
#include "lapwing/common/linked_symbols.hpp"
#include "lapwing/common/process.hpp"
#include "lapwing/common/values.hpp"
#include "lapwing/launch/program.hpp"
#include "lapwing/profile/analysis.hpp"
#include "task/mpi_function.hpp"
#include "watch/calls.hpp"

namespace lapwing::tool {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using recording::Node;
using recording::Rank;
using recording::Thread;

double seconds(std::uint64_t nanoseconds) {
    return static_cast<double>(nanoseconds) * 1e-9;
}

double mean(const recording::Times& times, std::uint64_t sum) {
    return times.count == 0 ? 0 : seconds(sum) / static_cast<double>(times.count);
}

// "4 times", or "50 to 99 times" if the number of passes differs.
std::string print_passes(const recording::Passes& passes) {
    std::uint64_t min = passes.runs().front().first;
    std::uint64_t max = 0;
    for (const auto& run : passes.runs()) {
        min = std::min(min, run.first);
        max = std::max(max, run.first);
    }
    return min == max ? counted(min, "time") : fmt::format("{} to {} times", min, max);
}

// Prints one rank. Source lines are looked up once for each site.
class RankPrinter {
  public:
    RankPrinter(const Rank& rank, watch::Symbols& symbols) : rank_(rank) {
        for (const auto& [number, site] : rank.sites)
            places_[number] = find_location(site.module, site.offset, site.symbol, symbols);
    }

    std::string text() const {
        std::string text =
            fmt::format("rank {}, host {}{}\n", rank_.rank, rank_.host,
                        rank_.ended ? "" : ", did not reach MPI_Finalize: the end may be missing");
        for (std::size_t i = 0; i < rank_.threads.size(); ++i) {
            const Thread& thread = rank_.threads[i];
            if (rank_.threads.size() > 1) text += fmt::format("thread {}\n", i);
            append(text, thread, thread.sequence, 1);
        }
        return text;
    }

    Json json() const {
        Json json = {{"rank", rank_.rank},
                     {"host", rank_.host},
                     {"machine", rank_.machine},
                     {"processor", rank_.processor},
                     {"processors", print_processors(rank_.processors)},
                     {"online", rank_.online},
                     {"mpi", rank_.mpi},
                     {"ended", rank_.ended},
                     {"communicators", Json::object()},
                     {"threads", Json::array()}};
        for (const auto& [number, communicator] : rank_.communicators) {
            json["communicators"][std::to_string(number)] = {
                {"members", communicator.members}, {"remote", communicator.remote},
                {"ordinal", communicator.ordinal}, {"rank", communicator.rank},
                {"sources", communicator.sources}, {"destinations", communicator.destinations}};
        }
        for (const Thread& thread : rank_.threads) {
            json["threads"].push_back({{"calls", thread.count()},
                                       {"truncated", thread.truncated},
                                       {"sequence", as_json(thread, thread.sequence)}});
        }
        return json;
    }

  private:
    const std::string& function(const recording::Call& call) const {
        return rank_.sites.at(call.site).function;
    }

    std::string arguments(const recording::Call& call) const {
        std::string text;
        const auto add = [&text](const char* what, const auto& value) {
            text += fmt::format(" {} {}", what, value);
        };
        const bool rooted = MpiFunction::of(function(call)).kind == MpiFunction::Kind::collective;
        if (call.communicator > 1) add("on communicator", call.communicator);
        if (call.sent > 0) text += fmt::format(" {} B", call.sent);
        if (call.peer >= 0) add(rooted ? "root" : "to", call.peer);
        if (call.received > 0 && call.received != call.sent) add("room", call.received);
        if (call.source >= 0) add("from", call.source);
        if (call.source == recording::any_rank) text += " from any";
        if (call.operation > 0 && rank_.operations.count(call.operation) > 0)
            text += " " + rank_.operations.at(call.operation);
        if (!call.requests.empty()) add("requests", fmt::format("{}", fmt::join(call.requests, ",")));
        if (call.completed > 0 && call.completed != call.requests.size()) add("completed", call.completed);
        return text;
    }

    void append(std::string& text, const Thread& thread, const std::vector<Node>& sequence,
                std::size_t depth) const {
        for (const Node& node : sequence) {
            text += std::string(2 * depth, ' ');
            if (node.is_loop()) {
                text += print_passes(node.passes) + ":\n";
                append(text, thread, node.body, depth + 1);
                continue;
            }
            const recording::Call& call = thread.calls[node.call];
            text += fmt::format("{}{} at {}: after {}, takes {}", function(call), arguments(call),
                                places_.at(call.site).text(),
                                print_seconds(mean(node.times, node.times.sum.processor)),
                                print_seconds(mean(node.times, node.times.sum.inside)));
            if (node.times.sum.polls > 0) text += ", " + counted(node.times.sum.polls, "unsuccessful test");
            text += "\n";
        }
    }

    Json as_json(const Thread& thread, const std::vector<Node>& sequence) const {
        Json json = Json::array();
        for (const Node& node : sequence) {
            if (node.is_loop()) {
                json.push_back({{"passes", node.passes.runs()}, {"body", as_json(thread, node.body)}});
                continue;
            }
            const recording::Call& call = thread.calls[node.call];
            Json row = {{"function", function(call)}, {"place", places_.at(call.site).text()}};
            if (places_.at(call.site).line > 0) row["line"] = places_.at(call.site).line;
            const auto add = [&row](const char* key, const auto& value, const auto& none) {
                if (value != none) row[key] = value;
            };
            add("communicator", call.communicator, 0u);
            add("sent", call.sent, std::uint64_t{0});
            add("received", call.received, std::uint64_t{0});
            add("peer", call.peer, recording::no_rank);
            add("source", call.source, recording::no_rank);
            add("tag", call.tag, recording::no_rank);
            add("receive_tag", call.receive_tag, recording::no_rank);
            add("in_place", call.in_place, false);
            add("completed", call.completed, 0u);
            add("requests", call.requests, std::vector<std::uint32_t>());
            if (const auto type = rank_.types.find(call.type); type != rank_.types.end())
                row["type"] = type->second.name;
            if (const auto by = rank_.operations.find(call.operation); by != rank_.operations.end())
                row["operation"] = by->second;
            if (const auto counts = rank_.counts.find(call.sent_counts); counts != rank_.counts.end())
                row["sent_counts"] = counts->second.all;
            if (const auto counts = rank_.counts.find(call.received_counts); counts != rank_.counts.end())
                row["received_counts"] = counts->second.all;
            row["calls"] = node.times.count;
            row["processor_seconds"] = seconds(node.times.sum.processor);
            row["wall_seconds"] = seconds(node.times.sum.wall);
            row["inside_seconds"] = seconds(node.times.sum.inside);
            if (node.times.sum.polls > 0) row["polls"] = node.times.sum.polls;
            json.push_back(row);
        }
        return json;
    }

    const Rank& rank_;
    std::map<std::uint32_t, CodeLocation> places_;
};

}  // namespace

void make_recording_directory(const std::string& directory) {
    std::error_code error;
    fs::create_directories(directory, error);
    if (!error && !fs::is_empty(directory, error) && !error)
        throw Error(ErrorCode::system,
                    fmt::format("{} is not empty: a recording needs a directory of its own", directory));
    if (error) throw_system(fmt::format("the recording cannot be written to {}", directory), error.value());
}

std::string finish_recording(const std::string& directory, const std::vector<std::string>& command,
                             int status) {
    const recording::Recording recording = recording::read_recording(directory);
    std::vector<std::string> words;
    for (const std::string& word : command) words.push_back(quote(word));
    const Json job = {{"lapwing", LAPWING_VERSION},
                      {"command", fmt::format("{}", fmt::join(words, " "))},
                      {"date", time_of_day()},
                      {"ranks", recording.ranks},
                      {"status", status}};
    write_file(fs::path(directory) / "job.json",
               job.dump(2, ' ', false, Json::error_handler_t::replace) + "\n", "the recording");
    std::uint64_t calls = 0;
    std::uint64_t bytes = 0;
    std::size_t ended = 0;
    for (const Rank& rank : recording.each) {
        ended += rank.ended ? 1 : 0;
        for (const Thread& thread : rank.threads) calls += thread.count();
    }
    for (const fs::directory_entry& entry : fs::directory_iterator(directory)) bytes += entry.file_size();
    std::string text = fmt::format(
        "recorded {} of {} in {} KiB; lapwing profile --show {} prints the recording", counted(calls, "call"),
        counted(recording.each.size(), "rank"), (bytes + 1023) / 1024, quote(directory));
    if (static_cast<int>(ended) < recording.ranks)
        text += fmt::format("; {} of {} ranks did not reach MPI_Finalize",
                            recording.ranks - static_cast<int>(ended), recording.ranks);
    return text;
}

std::string print_shared(const std::vector<recording::SharedProcessors>& groups) {
    constexpr std::size_t max_groups = 4;
    if (groups.size() > max_groups) {
        std::size_t ranks = 0;
        std::size_t processors = 0;
        for (const recording::SharedProcessors& group : groups) {
            ranks += group.ranks.size();
            processors += group.processors.size();
        }
        return fmt::format("{} ranks in {} groups shared {} CPUs", ranks, groups.size(), processors);
    }
    std::vector<std::string> parts;
    for (const recording::SharedProcessors& group : groups) {
        const std::size_t count = group.processors.size();
        const bool all = count >= static_cast<std::size_t>(group.online);
        parts.push_back(fmt::format("{} shared {}{} CPU{}", watch::ranks_in_words(group.ranks), count,
                                    all ? "" : fmt::format(" of {}", group.online),
                                    all && count == 1 ? "" : "s"));
    }
    return fmt::format("{}", fmt::join(parts, ", "));
}

std::string print_recording(const recording::Recording& recording) {
    watch::Symbols symbols = linked_symbols();
    std::string text = fmt::format("{}, recorded {} by {}\n", counted(recording.ranks, "rank"),
                                   recording.date, recording.command);
    const auto shared = recording::shared_processors(recording);
    if (!shared.empty()) text += print_shared(shared) + "\n";
    for (const Rank& rank : recording.each) text += "\n" + RankPrinter(rank, symbols).text();
    return text +
           "\n"
           "after: CPU time since the thread's previous call; both times are means over all iterations\n";
}

Json recording_as_json(const recording::Recording& recording) {
    watch::Symbols symbols = linked_symbols();
    Json json = {{"ranks", recording.ranks},
                 {"command", recording.command},
                 {"date", recording.date},
                 {"each", Json::array()}};
    for (const Rank& rank : recording.each) json["each"].push_back(RankPrinter(rank, symbols).json());
    return json;
}

}  // namespace lapwing::tool
