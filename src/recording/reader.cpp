// Reads what recorders have left in a directory.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.hpp"
#include "base/text_file.hpp"
#include "base/values.hpp"
#include "recording/codec.hpp"
#include "recording/stream.hpp"

namespace lapwing::recording {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

std::string contents_of(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    if (!in) throw_system(fmt::format("cannot read the recording {}", file.string()));
    return {std::istreambuf_iterator<char>(in), {}};
}

template <typename Header>
std::optional<Header> take(std::string_view& bytes) {
    Header header;
    if (bytes.size() < sizeof header) return {};
    std::memcpy(&header, bytes.data(), sizeof header);
    bytes.remove_prefix(sizeof header);
    return header;
}

// Bytes of the blocks that are whole.
std::size_t read_blocks(std::string_view bytes, Thread& thread) {
    const std::size_t all = bytes.size();
    while (!bytes.empty()) {
        std::string_view rest = bytes;
        const auto header = take<BlockHeader>(rest);
        if (!header || header->length > rest.size()) break;
        const std::string_view block = rest.substr(0, header->length);
        if (fingerprint_of(block) != header->hash) break;
        decode(block, thread);
        bytes = rest.substr(header->length);
    }
    return all - bytes.size();
}

template <typename Value>
void get(const Json& fact, const char* key, Value& value) {
    const auto found = fact.find(key);
    if (found != fact.end()) found->get_to(value);
}

void read_rank(const Json& fact, Rank& rank) {
    get(fact, "rank", rank.rank);
    get(fact, "host", rank.host);
    get(fact, "processor", rank.processor);
    get(fact, "mpi", rank.mpi);
    get(fact, "machine", rank.machine);
    get(fact, "online", rank.online);
    std::string processors;
    get(fact, "processors", processors);
    if (processors.empty()) return;
    rank.processors = parse_processors(processors).value_or(std::vector<int>{});
    std::sort(rank.processors.begin(), rank.processors.end());
    rank.processors.erase(std::unique(rank.processors.begin(), rank.processors.end()), rank.processors.end());
}

void read_communicator(const Json& fact, Communicator& communicator) {
    get(fact, "members", communicator.members);
    get(fact, "remote", communicator.remote);
    get(fact, "rank", communicator.rank);
    get(fact, "agreed", communicator.ordinal);
    get(fact, "sources", communicator.sources);
    get(fact, "destinations", communicator.destinations);
}

void read_fact(const Json& fact, Rank& rank, int& ranks) {
    const std::string kind = fact.value("fact", "");
    const auto number = fact.value("number", std::uint32_t{0});
    if (kind == "rank") {
        read_rank(fact, rank);
        get(fact, "ranks", ranks);
    } else if (kind == "clock") {
        rank.ended = rank.ended || fact.value("when", "") == "end";
    } else if (kind == "site") {
        Site& site = rank.sites[number];
        get(fact, "function", site.function);
        get(fact, "module", site.module);
        get(fact, "offset", site.offset);
        get(fact, "symbol", site.symbol);
    } else if (kind == "group") {
        read_communicator(fact, rank.communicators[number]);
    } else if (kind == "counts") {
        Counts& counts = rank.counts[number];
        get(fact, "all", counts.all);
        get(fact, "sum", counts.sum);
    } else if (kind == "type") {
        get(fact, "name", rank.types[number].name);
        get(fact, "bytes", rank.types[number].bytes);
    } else if (kind == "operation") {
        get(fact, "name", rank.operations[number]);
    }
}

void read_facts(const fs::path& file, Rank& rank, int& ranks) {
    std::ifstream in(file);
    if (!in) throw_system(fmt::format("cannot read the recording {}", file.string()));
    for (std::string line; std::getline(in, line);) {
        const Json fact = Json::parse(line, nullptr, false);
        // The last one of a rank that was killed may be half a line.
        if (!fact.is_object()) continue;
        try {
            read_fact(fact, rank, ranks);
        } catch (const Json::exception& error) {
            throw Error(ErrorCode::parse, fmt::format("{}: {}", file.string(), error.what()));
        }
    }
}

// Calls refer to definitions, which a rank writes before its calls.
void check(const Rank& rank, const std::string& directory) {
    for (const Thread& thread : rank.threads) {
        for (const Call& call : thread.calls) {
            if (rank.sites.count(call.site) == 0 ||
                (call.communicator != 0 && rank.communicators.count(call.communicator) == 0)) {
                throw Error(ErrorCode::parse,
                            fmt::format("{}/{}.facts has no definition of a call's site or communicator",
                                        directory, rank.rank));
            }
        }
    }
}

}  // namespace

void read_thread(std::string_view calls, std::string_view tail, Thread& thread) {
    const std::string_view all = calls;
    const auto header = take<StreamHeader>(calls);
    if (!header || std::memcmp(header->magic, StreamHeader::magic_of_calls, sizeof header->magic) != 0)
        throw Error(ErrorCode::parse,
                    "another version of Lapwing wrote this recording, or it is not a "
                    "recording");
    thread.began = header->began;
    const auto end = take<StreamHeader>(tail);
    const bool has_tail = end && end->began == header->began && end->before <= all.size() &&
                          end->before >= sizeof(StreamHeader) &&
                          std::memcmp(end->magic, StreamHeader::magic_of_tail, sizeof end->magic) == 0;
    // The tail repeats all bytes of the calls from its beginning on.
    if (has_tail) calls = calls.substr(0, end->before - sizeof(StreamHeader));
    const bool whole = read_blocks(calls, thread) == calls.size();
    thread.truncated = has_tail || !whole;
    if (has_tail && whole) read_blocks(tail, thread);
}

Recording read_recording(const std::string& directory) {
    Recording recording;
    std::map<int, Rank> ranks;
    std::error_code error;
    std::map<int, std::map<int, fs::path>> threads;
    for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
        const std::string name = entry.path().filename();
        int rank = 0;
        const char* const end = name.data() + name.size();
        if (!name.starts_with("rank-")) continue;
        const auto [after, problem] = std::from_chars(name.data() + 5, end, rank);
        if (problem != std::errc() || rank < 0) continue;
        if (std::string_view(after, end) == ".facts") {
            read_facts(entry.path(), ranks[rank], recording.ranks);
            ranks[rank].rank = rank;
        } else if (name.ends_with(".calls") && after != end) {
            int thread = 0;
            if (std::from_chars(after + 1, end, thread).ec == std::errc())
                threads[rank][thread] = entry.path();
        }
    }
    if (error) throw_system(fmt::format("cannot read the recording {}", directory), error.value());
    if (ranks.empty())
        throw Error(ErrorCode::system, fmt::format("{} has no recording: no file rank-0.facts", directory));
    for (auto& [number, rank] : ranks) {
        for (const auto& [thread, path] : threads[number]) {
            fs::path tail = path;
            tail.replace_extension(".tail");
            try {
                read_thread(contents_of(path), fs::exists(tail) ? contents_of(tail) : "",
                            rank.threads.emplace_back());
            } catch (const Error& problem) {
                throw Error(problem.code(), fmt::format("{}: {}", path.string(), problem.what()));
            }
            rank.threads.back().truncated = rank.threads.back().truncated || !rank.ended;
        }
        check(rank, directory);
        recording.each.push_back(std::move(rank));
    }
    const fs::path job = fs::path(directory) / "job.json";
    if (fs::exists(job)) {
        const Json about = Json::parse(contents_of(job), nullptr, false);
        if (about.is_object()) {
            recording.command = about.value("command", "");
            recording.date = about.value("date", "");
        }
    }
    return recording;
}

}  // namespace lapwing::recording
