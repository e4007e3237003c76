// The report of a job: text for people, JSON for tools.
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/json_schema.hpp"
#include "base/messages.hpp"
#include "base/output_file.hpp"
#include "base/values.hpp"
#include "engines/progress_choice.hpp"
#include "links/mpi/mpi_error.hpp"
#include "mpi/job/metadata.hpp"
#include "mpi/job/runtime.hpp"
#include "mpi/job/start.hpp"
#include "mpi/native/async_progress.hpp"
#include "mpi/native/callers.hpp"
#include "mpi/native/members.hpp"
#include "mpi/native/native.hpp"
#include "topology/container.hpp"

namespace lapwing {
namespace {

double seconds(std::uint64_t nanoseconds) {
    return static_cast<double>(nanoseconds) * 1e-9;
}

// What is summed over all ranks, as 64-bit numbers.
struct Sums {
    std::array<CollectiveCount, reported_collectives> collectives;
    DeviceCount devices;
    MessageCount messages;
};

std::string joined(const std::string& left, const std::string& right) {
    return left.empty() ? right : left + ", " + right;
}

// "MPI_Barrier" of "MPI_Ibarrier".
std::string blocking_name(Collective collective) {
    std::string text = mpi_name(collective);
    text.erase(4, 1);
    text[4] = static_cast<char>(text[4] - 'a' + 'A');
    return text;
}

// What a reader wants to know first: in the last line, where the terminal is. `by_calls`: nothing but the
// program's calls moves the messages.
std::string conclusion(const Sums& sums, bool by_calls) {
    CollectiveCount all;
    std::uint64_t left = 0;
    for (const CollectiveCount& count : sums.collectives) {
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
            "{} blocking, and left to the MPI. `lapwing run --blocking` takes blocking collectives; "
            "`lapwing profile` shows what nonblocking ones could save.\n",
            counted(seen, "collective is", "collectives are"));
    }
    std::string text = fmt::format("{} of {} taken", all.taken, counted(seen, "collective"));
    if (all.blocking > 0) text += fmt::format("; {} blocking", counted(all.blocking, "is", "are"));
    if (const std::uint64_t time = all.hidden_time + all.wait_time; time > 0) {
        const double percent = 100 * static_cast<double>(all.hidden_time) / static_cast<double>(time);
        text += by_calls ? fmt::format(
                               "; for {:.0f} % of their time the program was outside MPI, but inside a host "
                               "only its calls move messages",
                               percent)
                         : fmt::format("; at most {:.0f} % of their time hidden", percent);
    }
    return text + "\n";
}

using Json = nlohmann::ordered_json;

// The report in both forms, which have the same facts.
struct Document {
    Json json;
    std::string text;

    // A fact that is a string; none if it is empty.
    void add(const char* key, const char* words, const std::string& value) {
        if (value.empty()) return;
        json[key] = value;
        text += fmt::format("{}: {}\n", words, value);
    }
};

// Of a host whose ranks share memory: that of rank 0.
void add_inside_host(Document& document, const shm::ShmNode& node, bool by_calls) {
    auto& [json, text] = document;
    const char* const transfer = runtime.network->missing().single_copies.empty()
                                     ? "long messages may be copied once, by the kernel"
                                     : "long messages pass in pieces";
    json["inside_host"] = {{"transfer", transfer}, {"progress", by_calls ? "caller" : "thread"}};
    text += fmt::format("inside a host: {}; progress by {}\n", transfer,
                        by_calls ? "the program's calls" : "the progress thread");
    std::string transfers;
    for (const shm::TransferTimes& times : node.transfer_times()) {
        json["inside_host"]["long_messages_to_rank_0"].push_back(
            {{"bytes", times.max_bytes},
             {"messages", times.messages},
             {"chosen", times.decided() ? Json(shm::name(times.chosen)) : nullptr},
             {"pieces_microseconds", times.nanoseconds[0] * 1e-3},
             {"kernel_microseconds", times.nanoseconds[1] * 1e-3}});
        transfers += (transfers.empty() ? "" : "; ") + shm::in_words(times);
    }
    if (!transfers.empty()) text += fmt::format("long messages to rank 0: {}\n", transfers);
}

// What a progress thread would change for rank 0.
std::string advice(int ranks_of_host) {
    Progressed lists{.processors = topology::processors_here(), .ranks = ranks_of_host};
    for (const CollectiveCount& count : runtime.report.collectives) {
        lists.waited += seconds(count.wait_time);
        lists.elsewhere += seconds(count.hidden_time);
    }
    return advise_progress_thread(lists);
}

// Files that define collectives before Lapwing, by what they define.
std::map<std::string, std::vector<std::string>> collectives_before() {
    std::map<std::string, std::vector<std::string>> found;
    const auto look = [&](std::string_view names) {
        for (const std::string_view one : split(names, ' ')) {
            const std::string name(one);
            if (const std::string file = file_before(name.c_str()); !name.empty() && !file.empty())
                found[file].push_back(name);
        }
    };
#define LAPWING_COLLECTIVE(name, mpi_name, also, traits) \
    look(mpi_name);                                      \
    look(also);
#include "task/collectives.def"
    return found;
}

// A row of the table; the text has those of collectives that the program has called.
void add_collective(Document& document, Collective collective, const CollectiveCount& count,
                    const std::vector<Use>& uses) {
    Json row = {{"name", mpi_name(collective)},
                {"taken", count.taken},
                {"bytes_sent", count.bytes_sent},
                {"start_seconds", seconds(count.start_time)},
                {"wait_seconds", seconds(count.wait_time)},
                {"hidden_seconds_at_most", seconds(count.hidden_time)},
                {"wake_ups", count.wake_ups},
                {"uses_of_rank_0", Json::array()},
                {"reasons", Json::object()},
                {"blocking", count.blocking}};
    std::string used;
    for (const Use& use : uses) {
        row["uses_of_rank_0"].push_back(
            {{"algorithm", use.algorithm->name}, {"engine", use.engine->name()}, {"calls", use.calls}});
        used = joined(used, fmt::format("{} {} on {}", use.calls, use.algorithm->name, use.engine->name()));
    }
    std::string left;
    std::uint64_t fell_back = 0;
    for (std::size_t r = 0; r < fallback_reasons; ++r) {
        if (count.fell_back[r] == 0) continue;
        const char* const reason = name(static_cast<Fallback>(r));
        fell_back += count.fell_back[r];
        row["reasons"][reason] = count.fell_back[r];
        left = joined(left, fmt::format("{} ({})", count.fell_back[r], reason));
    }
    row["fell_back"] = fell_back;
    document.json["collectives"].push_back(std::move(row));
    if (count.blocking > 0)
        left = joined(left, fmt::format("{} ({})", count.blocking, blocking_name(collective)));
    if (count.taken == 0 && left.empty()) return;
    document.text += fmt::format(
        "{:<25} {:>10} {:>14} {:>10.6f} {:>10.6f} {:>10.6f} {:>9}  {:<30}  {}\n", mpi_name(collective),
        count.taken, count.bytes_sent, seconds(count.start_time), seconds(count.wait_time),
        seconds(count.hidden_time), count.wake_ups, used.empty() ? "-" : used, left.empty() ? "-" : left);
}

void add_messages(Document& document, const MessageCount& count) {
    document.add("no_messages", "messages do not progress while the program computes",
                 runtime.mode.why_no_messages);
    if (count.messages == 0) return;
    document.json["messages"] = {{"count", count.messages},
                                 {"bytes", count.bytes},
                                 {"hidden_seconds_at_most", seconds(count.hidden_time)},
                                 {"polls", count.polls},
                                 {"moving_polls", count.moving_polls},
                                 {"thread_seconds", seconds(count.thread_time)}};
    document.text += fmt::format(
        "large messages by the native MPI: {}, {} bytes, in flight outside MPI for {:.6f} s; Lapwing's "
        "thread polled {}, {} of them with progress, in {:.6f} s of CPU time\n",
        counted(count.messages, "send, receive or collective", "sends, receives and collectives"),
        count.bytes, seconds(count.hidden_time), counted(count.polls, "time"), count.moving_polls,
        seconds(count.thread_time));
}

void add_device_memory(Document& document, const DeviceCount& count) {
    if (count.buffers == 0) return;
    document.json["device_memory"] = {{"buffers", count.buffers},
                                      {"bytes_to_host", count.bytes_to_host},
                                      {"bytes_to_device", count.bytes_to_devices}};
    document.text +=
        fmt::format("device memory: {} staged through host memory, {} bytes from devices, {} bytes to them\n",
                    counted(count.buffers, "buffer"), count.bytes_to_host, count.bytes_to_devices);
}

Document document_of(const Sums& sums, int ranks) {
    const JobNetwork* const network = runtime.network.get();
    const Missing missing = network != nullptr ? network->missing() : Missing();
    const std::string between_hosts = network != nullptr ? network->description() : "";
    const shm::ShmNode* node = network != nullptr ? network->node() : nullptr;
    if (node != nullptr && node->ranks() == 1) node = nullptr;
    const ProgressThread* const thread = network != nullptr ? network->progress_thread() : nullptr;
    const bool by_calls = node != nullptr && (thread == nullptr || !thread->serves_all());
    Document document;
    auto& [json, text] = document;
    const std::string& engine = runtime.options.engine;
    json = {{"schema", json_schema},
            {"lapwing", LAPWING_VERSION},
            {"mpi", mpi_version()},
            {"ranks", ranks},
            {"engine", engine}};
    text = fmt::format("lapwing {}: {} on {}, engine {}\n", LAPWING_VERSION, mpi_version(),
                       counted(ranks, "rank"), engine);
    document.add("network", "between hosts", between_hosts);
    for (const Unavailable& unused : missing.networks) {
        json["no_network"][unused.name] = unused.why;
        text += fmt::format("the network {} is not used: {}\n", unused.name, unused.why);
    }
    for (const Unavailable& unused : missing.engines) {
        json["no_" + unused.name + "_engine"] = unused.why;
        text += fmt::format("the {} engine is not used: {}\n", unused.name, unused.why);
    }
    document.add("no_shared_memory", "ranks of one host do not share memory", missing.shared_memory);
    document.add("no_single_copies", "long messages inside a host pass through shared memory in pieces",
                 missing.single_copies);
    if (node != nullptr) add_inside_host(document, *node, by_calls);
    document.add("watch_trouble", "lapwing status cannot query all ranks",
                 runtime.watch != nullptr ? runtime.watch->trouble() : "");
    add_messages(document, sums.messages);
    for (std::size_t i = 0; network != nullptr && i < network->engines().size(); ++i) {
        for (const std::string& choice : network->engines()[i].job->choices()) {
            json["choices_of_rank_0"].push_back(choice);
            text += fmt::format("rank 0: {}\n", choice);
        }
    }
    if (const std::string advised = by_calls ? advice(node->ranks()) : ""; !advised.empty()) {
        json["inside_host"]["advice"] = advised;
        text += advised + "\n";
    }
    text += fmt::format("{:<25} {:>10} {:>14} {:>10} {:>10} {:>10} {:>9}  {:<30}  {}\n", "collective",
                        "taken", "bytes sent", "start s", "wait s", "hidden s", "wake-ups",
                        "algorithms (of rank 0)", "left to the native MPI");
    const auto& uses = runtime.report.uses;
    for (std::size_t i = 0; i < reported_collectives; ++i)
        add_collective(document, static_cast<Collective>(i), sums.collectives[i], uses[i]);
    add_device_memory(document, sums.devices);
    for (const auto& [file, functions] : collectives_before()) {
        json["before_lapwing"][file] = functions;
        text +=
            fmt::format("{} intercepts {} before Lapwing; calls that it does not forward are missing here\n",
                        file, fmt::join(functions, ", "));
    }
    // Tools that pass the program's calls on to Lapwing; their own collectives are counted as well.
    if (const std::vector<std::string> tools = bound_tools(); !tools.empty()) {
        json["tools"] = tools;
        text +=
            fmt::format("the program's calls pass through {}, whose own collectives are counted as well\n",
                        fmt::join(tools, ", "));
    }
    const bool on_host_engine = std::ranges::all_of(uses, [](const std::vector<Use>& rows) {
        return std::ranges::all_of(
            rows, [](const Use& use) { return use.engine->name() == std::string_view("host"); });
    });
    text +=
        "Numbers are sums over ranks. A row counts all forms of its collective: nonblocking, blocking and "
        "persistent.\n"
        "hidden: in flight while the program was outside MPI, an upper bound. wake-ups: of the progress "
        "thread.\n" +
        conclusion(sums, by_calls && between_hosts.empty() && on_host_engine);
    return document;
}

// Sums the counts of all ranks up, and rank 0 writes them. Throws MpiError, where the communicator returns
// errors.
void write_report(MPI_Comm all) {
    const Sums own{runtime.report.collectives, runtime.report.devices, async_progress.count()};
    Sums sums;
    MpiError::check(
        PMPI_Reduce(&own, &sums, sizeof sums / sizeof(std::uint64_t), MPI_UINT64_T, MPI_SUM, 0, all));
    if (rank_in(all) != 0) return;
    const ReportTarget& target = runtime.report_target;
    const Document document = document_of(sums, ranks_in(all));
    const std::string text = target.form == "json" ? document.json.dump(2) + "\n" : document.text;
    bool written = true;
    try {
        if (target.file.empty())
            written = print_message("{}", text);
        else
            write_file(target.file, text, "the report");
    } catch (const Error& error) {
        written = print_message("lapwing: {}; here it is:\n{}", error.what(), text);
    }
    if (!written || target.mark.empty()) return;
    const int mark = ::open(target.mark.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (mark < 0) return;
    static_cast<void>(!::ftruncate(mark, 1));  // a hole takes no room of a full disk
    ::close(mark);
}

}  // namespace

void report_job() {
    if (runtime.report_target.form == "none") return;
    // The program may have revoked MPI_COMM_WORLD.
    const MPI_Comm all = runtime.job != nullptr ? runtime.job->communicator() : MPI_COMM_WORLD;
    try {
        write_report(all);
    } catch (const MpiError& error) {
        // A rank has failed. The others may wait for this one.
        if (auto* const revoke = reinterpret_cast<int (*)(MPI_Comm)>(find_in_libraries("PMPIX_Comm_revoke")))
            revoke(all);
        if (rank_in(all) == 0) print_message("lapwing: no report: {}\n", error.what());
    }
}

}  // namespace lapwing
