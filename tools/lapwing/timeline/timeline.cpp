#include "lapwing/timeline/timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "base/output_file.hpp"
#include "base/values.hpp"
#include "task/problem.hpp"
#include "task/task.hpp"

namespace lapwing::tool {
namespace {

using Json = nlohmann::ordered_json;
using trace::Call;
using trace::Event;
using trace::What;

// As trace::WakeUp.
constexpr const char* wake_up_names[] = {"limit", "descriptor", "doorbell", "progress thread"};
constexpr const char* call_names[] = {"",
                                      "MPI_Wait",
                                      "MPI_Test",
                                      "MPI_Waitall",
                                      "MPI_Testall",
                                      "MPI_Waitany",
                                      "MPI_Testany",
                                      "MPI_Waitsome",
                                      "MPI_Testsome",
                                      "MPI_Request_get_status"};

// "MPI_Ialltoall": "MPI_Alltoall"
std::string blocking_name(std::string function) {
    if (function.size() <= 5 || function[4] != 'I') return function;
    function.erase(4, 1);
    function[4] = static_cast<char>(function[4] - 'a' + 'A');
    return function;
}

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

// Nanoseconds, at most, between the times of two hosts.
std::uint64_t clock_error(const std::vector<RankPart>& parts) {
    std::uint64_t error = 0;
    for (const RankPart& part : parts) error = std::max(error, part.clock_error());
    return error;
}

Json about_trace(const std::vector<RankPart>& parts) {
    Json about;
    Json clocks = Json::array();
    Json dropped = Json::object();
    Json not_ended = Json::array();
    for (const RankPart& part : parts) {
        clocks.push_back(clock_of(part));
        if (part.dropped > 0) dropped[std::to_string(part.rank)] = part.dropped;
        if (!part.ended) not_ended.push_back(part.rank);
    }
    if (!parts.empty()) {
        for (const char* key : {"lapwing", "mpi", "ranks", "engine"})
            about[key] = parts[0].about.value(key, Json());
    }
    about["clock_error_us"] = static_cast<double>(clock_error(parts)) * 1e-3;
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

// A collective of a rank: which tasks and chains belong to it, and beside which other ones it is drawn.
struct Operation {
    std::uint32_t number = 0;
    std::string function;  // "MPI_Ialltoall"
    bool complete = false;
    std::uint64_t began = 0;
    std::uint64_t ended = 0;     // of one that is not complete: the last time that is known of it
    std::uint64_t which = 0;     // trace::which
    const Json* plan = nullptr;  // facts; null: unknown
    const Json* group = nullptr;
    std::vector<Event> tasks;                   // in the order in which they were recorded
    std::vector<std::pair<Event, int>> chains;  // with their places beside each other
    int place = 0;                              // beside other collectives

    int track() const { return 1000 * (place + 1); }
    // In MPI_COMM_WORLD; -1: unknown.
    int member(int peer) const {
        if (group == nullptr) return -1;
        const Json& members = group->at("members");
        return static_cast<std::size_t>(peer) < members.size()
                   ? members[static_cast<std::size_t>(peer)].get<int>()
                   : -1;
    }
};

int track_of_thread(std::uint16_t thread) {
    return 1 + thread % 900;
}

// Intervals come in the order of their beginnings. Returns the first place that is free for the next one.
// `ends`: of the last interval in each place.
int take_place(std::vector<std::uint64_t>& ends, std::uint64_t began, std::uint64_t ended) {
    std::size_t place = 0;
    while (place < ends.size() && ends[place] > began) ++place;
    ends.resize(std::max(ends.size(), place + 1));
    ends[place] = ended;
    return static_cast<int>(place);
}

const Json* find(const std::map<std::uint64_t, Json>& facts, std::uint64_t number) {
    const auto found = facts.find(number);
    return found == facts.end() ? nullptr : &found->second;
}

void add(Operation& operation, const RankPart& part, const Event& event) {
    operation.number = event.operation;
    switch (event.what) {
        case What::collective:
            operation.complete = true;
            operation.which = event.bytes;
            operation.plan = find(part.plans, event.index);
            operation.group = find(part.groups, static_cast<std::uint64_t>(event.peer));
            if (operation.plan != nullptr) operation.function = operation.plan->at("function");
            operation.began = event.began;
            operation.ended = event.ended;
            return;
        case What::task:
        case What::seen:
            operation.tasks.push_back(event);
            break;
        case What::sleep:
            return;  // of a thread
        case What::chain:
            operation.chains.emplace_back(event, 0);
            break;
        case What::call: {
            const auto call = static_cast<trace::Call>(event.kind);
            if (call != trace::Call::start && call != trace::Call::blocking_start) break;
            if (operation.function.empty())
                operation.function = mpi_name(static_cast<Collective>(event.peer));
            break;
        }
    }
    if (operation.complete) return;
    operation.began = operation.began == 0 ? event.began : std::min(operation.began, event.began);
    operation.ended = std::max(operation.ended, event.ended);
}

// In the order in which they began.
std::vector<Operation> find_operations(const RankPart& part) {
    std::map<std::uint32_t, Operation> by_number;
    for (const Event& event : part.events) {
        if (event.operation == 0) continue;
        add(by_number[event.operation], part, event);
    }
    std::vector<Operation> operations;
    for (auto& [number, operation] : by_number) {
        // Of one whose beginning was dropped only calls may be left.
        if (operation.function.empty()) operation.function = "unknown";
        // A task may be recorded by another thread, which reads the clock a moment later.
        for (const Event& task : operation.tasks) operation.ended = std::max(operation.ended, task.ended);
        std::ranges::stable_sort(operation.tasks, {}, &Event::ended);
        std::ranges::stable_sort(operation.chains, {}, [](const auto& chain) { return chain.first.began; });
        std::vector<std::uint64_t> ends;
        for (auto& [chain, place] : operation.chains) place = take_place(ends, chain.began, chain.ended);
        if (operation.complete || !operation.tasks.empty()) operations.push_back(std::move(operation));
    }
    std::ranges::stable_sort(operations, {}, &Operation::began);
    std::vector<std::uint64_t> ends;
    for (Operation& operation : operations)
        operation.place = take_place(ends, operation.began, operation.ended);
    return operations;
}

// The Trace Event format, which Perfetto and Chrome open. Events are written to the file at once: a rank and
// its tracks are named before their slices, which may come in any order; arrows come after all ranks.
class Timeline {
  public:
    Timeline(const std::vector<RankPart>& parts, const std::string& file)
        : parts_(parts), out_(file, "the timeline"), zero_(first_time(parts)) {}

    void write() {
        out_.write(fmt::format("{{\"displayTimeUnit\":\"ns\",\n\"otherData\":{},\n\"traceEvents\":[",
                               print(about_trace(parts_))));
        for (const RankPart& part : parts_) write_rank(part);
        for (const auto& [key, message] : messages_) {
            if (message.sent.rank >= 0 && message.arrived.rank >= 0) write_arrow(message);
        }
        out_.write("\n]}\n");
        out_.close();
    }

  private:
    // One end of an arrow from a send to the receive of its bytes.
    struct End {
        int rank = -1;  // -1: unknown
        int track = 0;
        double time = 0;
    };
    struct Message {
        End sent;
        End arrived;
    };

    // Microseconds from the first event of all, to the nanosecond.
    double time(const RankPart& part, std::uint64_t nanoseconds) const {
        return std::round(part.aligned(nanoseconds) - zero_) / 1000;
    }

    void write_event(const Json& json) {
        out_.write(fmt::format("{}{}", first_ ? "\n" : ",\n", print(json)));
        first_ = false;
    }

    // Names a track, or the rank if `track` is negative.
    void write_name(int rank, int track, const std::string& name) {
        const char* const what = track < 0 ? "process" : "thread";
        Json about = {{"ph", "M"}, {"name", fmt::format("{}_name", what)}, {"pid", rank}};
        if (track >= 0) about["tid"] = track;
        about["args"] = {{"name", name}};
        write_event(about);
        about["name"] = fmt::format("{}_sort_index", what);
        about["args"] = {{"sort_index", track < 0 ? rank : track}};
        write_event(about);
    }

    // An interval on a track. Slices of one track are nested or apart.
    void write_slice(const RankPart& part, int track, const std::string& name, const char* category,
                     const Event& event, Json arguments) {
        const double began = time(part, event.began);
        // Rounding must not move the end of a slice beyond the slice that contains it.
        const double length = std::round((time(part, event.ended) - began) * 1000) / 1000;
        write_event({{"ph", "X"},
                     {"name", name},
                     {"cat", category},
                     {"pid", part.rank},
                     {"tid", track},
                     {"ts", began},
                     {"dur", length},
                     {"args", std::move(arguments)}});
    }

    void write_arrow(const Message& message) {
        if (message.arrived.time < message.sent.time) return;
        ++arrows_;
        const auto end = [&](const End& at, const char* phase) {
            return Json{{"ph", phase},    {"id", arrows_},   {"name", "message"}, {"cat", "message"},
                        {"pid", at.rank}, {"tid", at.track}, {"ts", at.time}};
        };
        write_event(end(message.sent, "s"));
        Json finish = end(message.arrived, "f");
        finish["bp"] = "e";
        write_event(finish);
    }

    static std::string thread_name(const RankPart& part, std::uint16_t thread) {
        const auto found = part.threads.find(thread);
        if (found != part.threads.end() && found->second) return "lapwing";
        return fmt::format("thread {}", thread);
    }

    void write_rank(const RankPart& part) {
        write_name(part.rank, -1, fmt::format("rank {} ({})", part.rank, part.about.value("host", "?")));
        for (const auto& [number, ours] : part.threads) {
            const auto thread = static_cast<std::uint16_t>(number);
            write_name(part.rank, track_of_thread(thread), thread_name(part, thread));
        }
        const std::vector<Operation> operations = find_operations(part);
        std::map<int, std::string> tracks;
        for (const Operation& operation : operations) {
            const int track = operation.track();
            tracks[track] = fmt::format("collectives{}",
                                        operation.place == 0 ? "" : fmt::format(" {}", operation.place + 1));
            for (const auto& [event, place] : operation.chains) {
                tracks[track + 1 + place] =
                    fmt::format("{}: chains in the kernel {}", tracks[track], place + 1);
            }
        }
        for (const auto& [track, name] : tracks) write_name(part.rank, track, name);
        std::map<std::uint32_t, const Operation*> by_number;
        for (const Operation& operation : operations) by_number[operation.number] = &operation;
        std::map<std::uint16_t, std::vector<Event>> sleeps;  // by thread, since its last call
        for (const Event& event : part.events) {
            if (event.what == What::sleep) sleeps[event.thread].push_back(event);
            if (event.what != What::call) continue;
            write_call(part, event, by_number);
            write_wait(part, event, sleeps[event.thread]);
            sleeps[event.thread].clear();
        }
        for (const Operation& operation : operations) write_operation(part, operation);
    }

    void write_call(const RankPart& part, const Event& event,
                    const std::map<std::uint32_t, const Operation*>& by_number) {
        const auto call = static_cast<Call>(event.kind);
        const auto known = by_number.find(event.operation);
        const std::string function = known != by_number.end() ? known->second->function : "";
        Json arguments = {{"collective", function}, {"number", event.operation}};
        std::string name;
        if (call == Call::start) {
            name = function;
        } else if (call == Call::blocking_start || call == Call::blocking_wait) {
            name = fmt::format("{} ({})", blocking_name(function),
                               call == Call::blocking_start ? "start" : "wait");
        } else {
            name = call_names[event.kind % std::size(call_names)];
            arguments["requests"] = event.index;
        }
        write_slice(part, track_of_thread(event.thread), name, "call", event, std::move(arguments));
    }

    // Inside a call that has waited: where its thread has slept, and what has ended each sleep. Before,
    // between and after that it has looked.
    void write_wait(const RankPart& part, const Event& call, const std::vector<Event>& sleeps) {
        const int track = track_of_thread(call.thread);
        Event spin = call;
        std::uint32_t looks = 0;
        for (const Event& sleep : sleeps) {
            if (sleep.began < call.began || sleep.ended > call.ended) continue;
            spin.ended = sleep.began;
            write_slice(part, track, "spin", "wait", spin, {{"looks", sleep.index - looks}});
            write_slice(part, track, "sleep", "wait", sleep,
                        {{"woken_by", wake_up_names[sleep.kind % std::size(wake_up_names)]},
                         {"limit_us", static_cast<double>(sleep.bytes) / 1000}});
            looks = sleep.index;
            spin.began = sleep.ended;
        }
        if (looks == 0) return;
        spin.ended = call.ended;
        write_slice(part, track, "spin", "wait", spin, Json::object());
    }

    void write_operation(const RankPart& part, const Operation& operation) {
        Json about = {{"number", operation.number}};
        if (operation.plan != nullptr) {
            for (const char* key : {"algorithm", "engine", "bytes", "root"}) {
                if (operation.plan->contains(key)) about[key] = operation.plan->at(key);
            }
            about["tasks"] = operation.plan->at("tasks");
            about["recorded"] = operation.tasks.size();
        }
        if (operation.group != nullptr) {
            about["group_rank"] = operation.group->at("rank");
            about["group_ranks"] = operation.group->at("ranks");
        }
        if (!operation.complete) about["complete"] = false;
        Event whole;
        whole.began = operation.began;
        whole.ended = operation.ended;
        write_slice(part, operation.track(), operation.function, "collective", whole, std::move(about));
        for (const auto& [event, place] : operation.chains) {
            const bool receives = event.kind == 2;
            Json arguments = {{"bytes", event.bytes}, {"number", operation.number}};
            if (receives) arguments["peer"] = event.peer;
            arguments["seen_by"] = thread_name(part, event.thread);
            write_slice(part, operation.track() + 1 + place,
                        receives ? fmt::format("receives from {}", event.peer) : "sends", "chain", event,
                        std::move(arguments));
        }
        for (const Event& event : operation.tasks) write_task(part, operation, event);
        match_messages(part, operation);
    }

    void write_task(const RankPart& part, const Operation& operation, const Event& event) {
        const auto kind = static_cast<Kind>(event.kind);
        Json arguments = {{"index", event.index}, {"kind", lapwing::name(kind)}};
        std::string title = lapwing::name(kind);
        if (event.peer >= 0) {
            title += fmt::format(" {}", event.peer);
            arguments["peer"] = event.peer;
            const int world = operation.member(event.peer);
            if (world >= 0) arguments["peer_world_rank"] = world;
        }
        arguments[kind == Kind::wait ? "count" : "bytes"] = event.bytes;
        arguments["number"] = operation.number;
        if (event.what == What::seen) {
            arguments["known"] = "complete when it was seen";
            arguments["seen_by"] = thread_name(part, event.thread);
        } else {
            arguments["thread"] = thread_name(part, event.thread);
        }
        write_slice(part, operation.track(), title, "task", event, std::move(arguments));
    }

    // Finds the ends of the messages of a collective whose events are all recorded, and whose ranks are
    // known.
    void match_messages(const RankPart& part, const Operation& operation) {
        if (!operation.complete || operation.plan == nullptr || operation.group == nullptr) return;
        if (operation.plan->at("tasks").get<std::size_t>() != operation.tasks.size()) return;
        const Json& members = operation.group->at("members");
        if (members.empty()) return;
        const std::string group = fmt::format("{} {} {}", operation.group->at("agreed").get<std::uint64_t>(),
                                              members.dump(), operation.which);
        const int self = operation.group->at("rank").get<int>();
        std::vector<Event> tasks = operation.tasks;
        std::ranges::sort(tasks, {}, &Event::index);
        // Both ranks count the messages from one to the other.
        const auto message = [&](int from, int to, std::uint64_t number) -> Message& {
            return messages_[fmt::format("{} {} {} {}", group, from, to, number)];
        };
        const auto end = [&](int track, std::uint64_t nanoseconds) {
            return End{part.rank, track, time(part, nanoseconds)};
        };
        std::map<int, std::uint64_t> sent;
        std::map<int, std::uint64_t> received;
        std::map<int, std::uint64_t> arrived;
        for (const Event& task : tasks) {
            const auto kind = static_cast<Kind>(task.kind);
            if (sends(kind)) {
                const auto [track, began] = sent_at(operation, task);
                message(self, task.peer, sent[task.peer]++).sent = end(track, began);
            } else if (kind == Kind::recv && task.what == What::seen) {
                message(task.peer, self, received[task.peer]++).arrived = end(operation.track(), task.ended);
            } else if (kind == Kind::wait && task.what == What::task) {
                // The last moment of the slice of the wait.
                const End at = end(operation.track(), std::max(task.began, task.ended - 1));
                for (std::uint64_t n = 0; n < task.bytes; ++n)
                    message(task.peer, self, arrived[task.peer]++).arrived = at;
            }
        }
    }

    // The track and the time. The kernel's own moment is not known: it is not before the chain was handed
    // over.
    static std::pair<int, std::uint64_t> sent_at(const Operation& operation, const Event& task) {
        for (const auto& [chain, place] : operation.chains) {
            if (task.what != What::task && chain.kind == 1 && chain.began <= task.ended &&
                task.ended <= chain.ended)
                return {operation.track() + 1 + place, chain.began};
        }
        return {operation.track(), task.began};
    }

    const std::vector<RankPart>& parts_;
    OutputFile out_;
    double zero_;  // the time of the first event of all ranks, in nanoseconds by the clock of rank 0's host
    bool first_ = true;
    std::uint64_t arrows_ = 0;
    std::map<std::string, Message> messages_;
};

}  // namespace

void write_timeline(const std::vector<RankPart>& parts, const std::string& file) {
    Timeline(parts, file).write();
}

std::vector<std::string> remarks_on_timeline(const std::vector<RankPart>& parts) {
    std::vector<std::string> remarks;
    if (parts.empty()) {
        remarks.emplace_back(
            "no rank wrote a timeline: the program ended before MPI_Init, or the preload library was not "
            "loaded");
        return remarks;
    }
    std::size_t events = 0;
    for (const RankPart& part : parts) {
        events += part.events.size();
        if (part.dropped > 0) {
            remarks.push_back(
                fmt::format("rank {}: {} dropped; raise LAPWING_TRACE_EVENTS (now {}) to keep more events "
                            "of each thread",
                            part.rank, counted(part.dropped, "oldest event was", "oldest events were"),
                            part.about.value("capacity", 0)));
        }
        if (!part.ended) {
            remarks.push_back(
                fmt::format("rank {} did not reach MPI_Finalize: its events end early", part.rank));
        }
    }
    const auto ranks = parts[0].about.value("ranks", std::size_t{0});
    if (parts.size() < ranks)
        remarks.push_back(fmt::format("{} of {} ranks recorded nothing", ranks - parts.size(), ranks));
    if (events == 0) remarks.emplace_back("Lapwing ran no collective: lapwing run --report shows the reason");
    if (const std::uint64_t error = clock_error(parts); error > 0)
        remarks.push_back(fmt::format("times of different hosts are comparable to within {:.1f} us",
                                      static_cast<double>(error) * 1e-3));
    return remarks;
}

}  // namespace lapwing::tool
