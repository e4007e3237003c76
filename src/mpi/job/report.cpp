#include "mpi/job/report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <mpi.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/error.hpp"

namespace lapwing {
namespace {

double seconds(std::uint64_t nanoseconds) {
    return static_cast<double>(nanoseconds) * 1e-9;
}

// "MPI_Allreduce"
std::string blocking_name(Collective collective) {
    std::string name = std::string("MPI_") + (mpi_name(collective) + std::strlen("MPI_I"));
    name[4] = static_cast<char>(std::toupper(static_cast<unsigned char>(name[4])));
    return name;
}

// The time of a call, on average over decisions: "2.1 us", "-" if no list took the call.
std::string microseconds(const BlockingDecision& row, BlockingChoice::Way way) {
    const std::uint64_t decisions = row.decisions[0] + row.decisions[1];
    const double value =
        row.nanoseconds[static_cast<std::size_t>(way)] * 1e-3 / static_cast<double>(decisions);
    return std::isfinite(value) ? fmt::format("{:.{}f} us", value, value < 100 ? 1 : 0) : "-";
}

// A line for each collective and number of ranks.
std::string in_words(std::vector<BlockingDecision> decisions) {
    const auto key = [](const BlockingDecision& row) {
        return std::tuple(row.collective, row.ranks, row.max_bytes);
    };
    std::sort(decisions.begin(), decisions.end(),
              [&](const auto& one, const auto& other) { return key(one) < key(other); });
    std::string text;
    const BlockingDecision* last = nullptr;
    for (const BlockingDecision& row : decisions) {
        const bool same = last != nullptr && last->collective == row.collective && last->ranks == row.ranks;
        if (!same) {
            text +=
                fmt::format("{}{} on {} ranks, a call by lists / by the MPI:", last == nullptr ? "" : "\n",
                            blocking_name(row.collective), row.ranks);
        }
        const std::uint64_t by_lists = row.decisions[1];
        const std::uint64_t by_mpi = row.decisions[0];
        text += fmt::format("{} to {} B {} / {}, {}", same ? ";" : "", row.max_bytes,
                            microseconds(row, BlockingChoice::Way::lists),
                            microseconds(row, BlockingChoice::Way::mpi),
                            by_lists >= by_mpi ? "lists" : "the MPI");
        if (by_lists > 0 && by_mpi > 0)
            text += fmt::format(" in {} of {} decisions", std::max(by_lists, by_mpi), by_lists + by_mpi);
        last = &row;
    }
    return last == nullptr ? "" : text + "\n";
}

using Sums = std::array<CollectiveCount, reported_collectives>;

// Buffers in the memory of devices, of all collectives.
struct StagedBytes {
    std::uint64_t buffers = 0;
    std::uint64_t to_host = 0;
    std::uint64_t to_device = 0;
};
StagedBytes staged_bytes(const Sums& sums) {
    StagedBytes all;
    for (const CollectiveCount& count : sums) {
        all.buffers += count.device_buffers;
        all.to_host += count.bytes_from_devices;
        all.to_device += count.bytes_to_devices;
    }
    return all;
}

std::string joined(const std::string& left, const std::string& right) {
    return left.empty() ? right : left + ", " + right;
}

// Inside a host whose ranks share memory.
const char* transfer_of(const Missing& missing) {
    return missing.single_copies.empty() ? "long messages may be copied once, by the kernel"
                                         : "long messages pass in pieces";
}

// What a reader wants to know first: in the last line, where the terminal is.
std::string conclusion(const Sums& sums) {
    CollectiveCount all;
    std::uint64_t left = 0;
    for (const CollectiveCount& count : sums) {
        all.taken += count.taken;
        all.blocking += count.blocking;
        all.hidden_time += count.hidden_time;
        all.wait_time += count.start_time + count.wait_time;
        for (const std::uint64_t calls : count.fell_back) left += calls;
    }
    const std::uint64_t seen = all.taken + left + all.blocking;
    if (seen == 0) return "The program called no collective.\n";
    if (seen == all.blocking) {
        return fmt::format(
            "All {} collectives are blocking, and left to the MPI. `lapwing run --blocking` takes them; "
            "`lapwing "
            "profile` says what nonblocking ones would gain.\n",
            seen);
    }
    std::string text = fmt::format("{} of {} collectives taken", all.taken, seen);
    if (all.blocking > 0) text += fmt::format("; {} are blocking", all.blocking);
    if (const std::uint64_t time = all.hidden_time + all.wait_time; time > 0) {
        text += fmt::format("; at most {:.0f} % of their time hidden",
                            100 * static_cast<double>(all.hidden_time) / static_cast<double>(time));
    }
    return text + "\n";
}

std::string as_text(const Sums& sums, const Report& mine, int ranks, const Manner& manner) {
    const Missing& missing = manner.missing;
    std::string text = fmt::format("lapwing {}: {} on {} rank{}, engine {}\n", LAPWING_VERSION, mpi_version(),
                                   ranks, ranks == 1 ? "" : "s", manner.engine);
    if (!manner.network.empty()) text += fmt::format("between hosts: {}\n", manner.network);
    for (const Unavailable& network : missing.networks)
        text += fmt::format("the network {} is not used: {}\n", network.name, network.why);
    for (const Unavailable& engine : missing.engines)
        text += fmt::format("the {} engine is not used: {}\n", engine.name, engine.why);
    if (!missing.shared_memory.empty())
        text += fmt::format("ranks of one host do not share memory: {}\n", missing.shared_memory);
    if (!missing.single_copies.empty()) {
        text += fmt::format("long messages inside a host pass through shared memory in pieces: {}\n",
                            missing.single_copies);
    }
    if (!manner.progress.empty())
        text += fmt::format("inside a host: {}; progress by {}\n", transfer_of(manner.missing),
                            manner.progress == "thread" ? "the progress thread" : "the program's calls");
    std::string transfers;
    for (const shm::TransferTimes& times : manner.transfers)
        transfers += (transfers.empty() ? "" : "; ") + shm::in_words(times);
    if (!transfers.empty()) text += fmt::format("long messages to rank 0: {}\n", transfers);
    if (!manner.watch_trouble.empty())
        text += fmt::format("not all ranks can be asked by lapwing status: {}\n", manner.watch_trouble);
    for (const std::string& choice : manner.choices) text += fmt::format("rank 0: {}\n", choice);
    if (!manner.advice.empty()) text += manner.advice + "\n";
    text += fmt::format("{:<25} {:>10} {:>14} {:>10} {:>10} {:>10} {:>9}  {:<30}  {}\n", "collective",
                        "taken", "bytes sent", "start s", "wait s", "hidden s", "wake-ups",
                        "algorithms (of rank 0)", "left to the native MPI");
    for (std::size_t i = 0; i < reported_collectives; ++i) {
        const CollectiveCount& count = sums[i];
        std::string left;
        for (std::size_t r = 0; r < fallback_reasons; ++r) {
            if (count.fell_back[r] == 0) continue;
            left = joined(left, fmt::format("{} ({})", count.fell_back[r], name(static_cast<Fallback>(r))));
        }
        std::string used;
        for (const Use& use : mine.uses[i]) {
            used =
                joined(used, fmt::format("{} {} on {}", use.calls, use.algorithm->name, use.engine->name()));
        }
        if (count.blocking > 0) left = joined(left, fmt::format("{} (blocking)", count.blocking));
        if (count.taken == 0 && left.empty()) continue;
        text += fmt::format("{:<25} {:>10} {:>14} {:>10.6f} {:>10.6f} {:>10.6f} {:>9}  {:<30}  {}\n",
                            mpi_name(static_cast<Collective>(i)), count.taken, count.bytes_sent,
                            seconds(count.start_time), seconds(count.wait_time), seconds(count.hidden_time),
                            count.wake_ups, used.empty() ? "-" : used, left.empty() ? "-" : left);
    }
    const StagedBytes staged = staged_bytes(sums);
    if (staged.buffers > 0) {
        text += fmt::format(
            "device memory: {} buffers staged through host memory, {} bytes from devices, {} bytes to them\n",
            staged.buffers, staged.to_host, staged.to_device);
    }
    text += in_words(mine.blocking_decisions);
    for (const auto& [file, functions] : manner.before) {
        text += fmt::format("{} takes {} before Lapwing; calls that it does not pass on are missing here\n",
                            file, fmt::join(functions, ", "));
    }
    if (!manner.tools.empty()) {
        text +=
            fmt::format("the program's calls pass through {}, whose own collectives are counted as well\n",
                        fmt::join(manner.tools, ", "));
    }
    text +=
        "Numbers are sums over ranks. hidden: in flight while the program was outside MPI, an upper bound. "
        "wake-ups: of the progress thread.\n";
    return text + conclusion(sums);
}

std::string as_json(const Sums& sums, const Report& mine, int ranks, const Manner& manner) {
    nlohmann::ordered_json json;
    json["lapwing"] = LAPWING_VERSION;
    json["mpi"] = mpi_version();
    json["ranks"] = ranks;
    const Missing& missing = manner.missing;
    json["engine"] = manner.engine;
    if (!manner.network.empty()) json["network"] = manner.network;
    for (const Unavailable& network : missing.networks) json["no_network"][network.name] = network.why;
    for (const Unavailable& engine : missing.engines) json["no_" + engine.name + "_engine"] = engine.why;
    if (!missing.shared_memory.empty()) json["no_shared_memory"] = missing.shared_memory;
    if (!missing.single_copies.empty()) json["no_single_copies"] = missing.single_copies;
    if (!manner.progress.empty())
        json["inside_host"] = {{"transfer", transfer_of(manner.missing)}, {"progress", manner.progress}};
    for (const shm::TransferTimes& times : manner.transfers) {
        json["inside_host"]["long_messages_to_rank_0"].push_back(
            {{"bytes", times.max_bytes},
             {"messages", times.messages},
             {"chosen", times.decided() ? nlohmann::ordered_json(shm::name(times.chosen)) : nullptr},
             {"pieces_microseconds", times.nanoseconds[0] * 1e-3},
             {"kernel_microseconds", times.nanoseconds[1] * 1e-3}});
    }
    if (!manner.advice.empty()) json["inside_host"]["advice"] = manner.advice;
    if (const StagedBytes staged = staged_bytes(sums); staged.buffers > 0) {
        json["device_memory"] = {{"buffers", staged.buffers},
                                 {"bytes_to_host", staged.to_host},
                                 {"bytes_to_device", staged.to_device}};
    }
    for (const BlockingDecision& row : mine.blocking_decisions) {
        const auto seconds_by = [&](std::size_t way) {
            const double value =
                row.nanoseconds[way] * 1e-9 / static_cast<double>(row.decisions[0] + row.decisions[1]);
            return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json();
        };
        json["blocking_decisions"].push_back({{"name", blocking_name(row.collective)},
                                              {"bytes", row.max_bytes},
                                              {"ranks", row.ranks},
                                              {"decisions_for_lists", row.decisions[1]},
                                              {"decisions_for_mpi", row.decisions[0]},
                                              {"lists_seconds", seconds_by(1)},
                                              {"mpi_seconds", seconds_by(0)}});
    }
    if (!manner.watch_trouble.empty()) json["watch_trouble"] = manner.watch_trouble;
    if (!manner.choices.empty()) json["choices_of_rank_0"] = manner.choices;
    if (!manner.before.empty()) json["before_lapwing"] = manner.before;
    if (!manner.tools.empty()) json["tools"] = manner.tools;
    json["collectives"] = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < reported_collectives; ++i) {
        const CollectiveCount& count = sums[i];
        nlohmann::ordered_json row;
        row["name"] = mpi_name(static_cast<Collective>(i));
        row["taken"] = count.taken;
        row["bytes_sent"] = count.bytes_sent;
        row["start_seconds"] = seconds(count.start_time);
        row["wait_seconds"] = seconds(count.wait_time);
        row["hidden_seconds_at_most"] = seconds(count.hidden_time);
        row["wake_ups"] = count.wake_ups;
        row["uses_of_rank_0"] = nlohmann::ordered_json::array();
        for (const Use& use : mine.uses[i]) {
            row["uses_of_rank_0"].push_back(
                {{"algorithm", use.algorithm->name}, {"engine", use.engine->name()}, {"calls", use.calls}});
        }
        std::uint64_t fell_back = 0;
        row["reasons"] = nlohmann::ordered_json::object();
        for (std::size_t r = 0; r < fallback_reasons; ++r) {
            fell_back += count.fell_back[r];
            if (count.fell_back[r] > 0) row["reasons"][name(static_cast<Fallback>(r))] = count.fell_back[r];
        }
        row["fell_back"] = fell_back;
        row["blocking"] = count.blocking;
        json["collectives"].push_back(row);
    }
    return json.dump(2) + "\n";
}

// Gives 0 or the error. Leaves a file that it could not complete empty: half a report may look like a whole
// one.
int write_file(const std::string& path, const std::string& text) {
    std::FILE* const file = std::fopen(path.c_str(), "w");
    if (file == nullptr) return errno;
    int error = 0;
    if (std::fwrite(text.data(), 1, text.size(), file) != text.size() || std::fflush(file) != 0) {
        error = errno;
        static_cast<void>(!::ftruncate(::fileno(file), 0));
    }
    // Network file systems may say only now that there is no room.
    if (std::fclose(file) != 0 && error == 0) {
        error = errno;
        static_cast<void>(!::truncate(path.c_str(), 0));
    }
    return error;
}

}  // namespace

std::string mpi_version() {
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    PMPI_Get_library_version(text, &length);
    // "Open MPI v4.1.4, package: ...", "MPICH Version:\t4.0.2\n..."
    const std::string_view all = text;
    const std::string_view line = all.substr(0, all.find_first_of(",\n"));
    // "Intel(R) MPI Library 2021.18 for Linux* OS"
    if (line.starts_with("Intel")) return std::string(line.substr(0, line.find(" for ")));
    const std::size_t number = line.find_first_of("0123456789");
    if (number == std::string_view::npos) return std::string(line);
    const std::string_view name =
        line.substr(0, line.find_first_of(line.starts_with("Open MPI") ? "v" : " \t"));
    return fmt::format("{} {}", name.substr(0, name.find_last_not_of(' ') + 1), line.substr(number));
}

const char* name(Fallback reason) {
    switch (reason) {
        case Fallback::intercommunicator:
            return "intercommunicator";
        case Fallback::engine_mpi:
            return "engine mpi";
        case Fallback::no_hook:
            return "no way into this MPI's progress";
        case Fallback::no_plan:
            return "no algorithm or engine";
        case Fallback::tool:
            return "a tool before Lapwing";
        case Fallback::arguments:
            return "arguments that only the MPI takes";
        case Fallback::measured:
            return "blocking; the MPI is faster, or was tried";
    }
    return "";
}

void Report::count_blocking_choice(const BlockingChoice::Case& decided, int ranks) {
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    const auto found =
        std::find_if(blocking_decisions.begin(), blocking_decisions.end(), [&](const BlockingDecision& row) {
            return row.collective == decided.collective() && row.max_bytes == decided.max_bytes() &&
                   row.ranks == ranks;
        });
    BlockingDecision& row = found != blocking_decisions.end()
                                ? *found
                                : blocking_decisions.emplace_back(BlockingDecision{
                                      decided.collective(), decided.max_bytes(), ranks, {}, {}});
    ++row.decisions[static_cast<std::size_t>(decided.way())];
    for (const std::size_t way : {0U, 1U}) row.nanoseconds[way] += decided.medians()[way];
}

void Report::count_use(Collective collective, const Algorithm* algorithm, const Engine* engine) {
    std::vector<Use>& rows = uses[static_cast<std::size_t>(collective)];
    for (Use& use : rows) {
        if (use.algorithm == algorithm && use.engine == engine) {
            ++use.calls;
            return;
        }
    }
    rows.push_back({algorithm, engine, 1});
}

void begin_report(const std::string& mark) {
    // Of a launcher on another host the mark's directory is not here.
    if (!mark.empty()) write_file(mark, "");
}

void write_report(const Report& mine, const ReportTarget& target, const Manner& manner) {
    static_assert(sizeof(CollectiveCount) % sizeof(std::uint64_t) == 0);
    Sums sums;
    int rank = 0;
    int ranks = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
    PMPI_Reduce(mine.collectives.data(), sums.data(), sizeof sums / sizeof(std::uint64_t), MPI_UINT64_T,
                MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank != 0) return;
    const std::string text =
        target.form == "json" ? as_json(sums, mine, ranks, manner) : as_text(sums, mine, ranks, manner);
    if (target.file.empty()) {
        std::fwrite(text.data(), 1, text.size(), stderr);
    } else if (const int error = write_file(target.file, text); error != 0) {
        fmt::print(stderr, "lapwing: the report cannot be written to {}: {}; here it is:\n{}",
                   printable(target.file), std::strerror(error), text);
        return;
    }
    if (!target.mark.empty()) write_file(target.mark, "written\n");
}

}  // namespace lapwing
