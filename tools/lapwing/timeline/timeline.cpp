#include "lapwing/timeline/timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <map>

#include "base/error.hpp"
#include "lapwing/common/output_file.hpp"
#include "lapwing/timeline/tracks.hpp"

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

// One event after the other goes to the file.
class Writer {
  public:
    explicit Writer(const std::string& file) : out_(file, "the timeline") {}

    void text(const std::string& text) { out_.write(text); }
    void event(const Json& json) {
        text(fmt::format("{}{}", first_ ? "\n" : ",\n", print(json)));
        first_ = false;
    }
    void close() { out_.close(); }
    static std::string print(const Json& json) {
        return json.dump(-1, ' ', false, Json::error_handler_t::replace);
    }

  private:
    OutputFile out_;
    bool first_ = true;
};

class Timeline {
  public:
    Timeline(const std::vector<RankPart>& parts, Writer& writer) : parts_(parts), writer_(writer) {
        for (const RankPart& part : parts) {
            for (const Event& event : part.events) zero_ = std::min(zero_, part.aligned(event.began));
        }
    }

    void write() {
        for (const RankPart& part : parts_) write_rank(part);
        for (const auto& [key, ends] : messages_) write_arrow(ends);
    }

  private:
    // Microseconds from the first event of all, to the nanosecond.
    double time(const RankPart& part, std::uint64_t nanoseconds) const {
        return std::round(part.aligned(nanoseconds) - zero_) / 1000;
    }

    void write_slice(const RankPart& part, int track, const std::string& name, const char* category,
                     const Event& event, Json arguments) {
        const double began = time(part, event.began);
        // So that a slice that lies in another one does so after rounding, too.
        const double length = std::round((time(part, event.ended) - began) * 1000) / 1000;
        writer_.event({{"ph", "X"},
                       {"name", name},
                       {"cat", category},
                       {"pid", part.rank},
                       {"tid", track},
                       {"ts", began},
                       {"dur", length},
                       {"args", std::move(arguments)}});
    }
    void write_name(int rank, int track, const char* what, const std::string& name, int order) {
        Json about = {{"ph", "M"}, {"name", fmt::format("{}_name", what)}, {"pid", rank}};
        if (track >= 0) about["tid"] = track;
        about["args"] = {{"name", name}};
        writer_.event(about);
        about["name"] = fmt::format("{}_sort_index", what);
        about["args"] = {{"sort_index", order}};
        writer_.event(about);
    }

    static std::string thread_name(const RankPart& part, std::uint16_t thread) {
        const auto found = part.threads.find(thread);
        if (found != part.threads.end() && found->second) return "lapwing";
        return fmt::format("thread {}", thread);
    }

    void write_rank(const RankPart& part) {
        write_name(part.rank, -1, "process",
                   fmt::format("rank {} ({})", part.rank, part.about.value("host", "?")), part.rank);
        for (const auto& [thread, ours] : part.threads) {
            const int track = track_of_thread(static_cast<std::uint16_t>(thread));
            write_name(part.rank, track, "thread", thread_name(part, static_cast<std::uint16_t>(thread)),
                       track);
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
        for (const auto& [track, name] : tracks) write_name(part.rank, track, "thread", name, track);
        std::map<std::uint32_t, std::string> functions;
        for (const Operation& operation : operations) functions[operation.number] = operation.function;
        std::map<std::uint16_t, std::vector<Event>> sleeps;  // by thread, since its last call
        for (const Event& event : part.events) {
            if (event.what == What::sleep) sleeps[event.thread].push_back(event);
            if (event.what != What::call) continue;
            write_call(part, event, functions);
            write_wait(part, event, sleeps[event.thread]);
            sleeps[event.thread].clear();
        }
        for (const Operation& operation : operations) write_operation(part, operation);
    }

    void write_call(const RankPart& part, const Event& event,
                    const std::map<std::uint32_t, std::string>& functions) {
        const auto call = static_cast<Call>(event.kind);
        const auto known = functions.find(event.operation);
        const std::string function = known != functions.end() ? known->second : "";
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

    // One end of an arrow.
    struct End {
        const RankPart* part = nullptr;
        int track = 0;
        std::uint64_t time = 0;
    };
    struct Ends {
        End sent;
        End arrived;
    };

    void match_messages(const RankPart& part, const Operation& operation) {
        for (const MessageEnd& message : message_ends(operation)) {
            Ends& ends = messages_[message.key];
            (message.sent ? ends.sent : ends.arrived) = {&part, message.track, message.time};
        }
    }

    void write_arrow(const Ends& ends) {
        if (ends.sent.part == nullptr || ends.arrived.part == nullptr) return;
        const double from = time(*ends.sent.part, ends.sent.time);
        const double to = time(*ends.arrived.part, ends.arrived.time);
        if (to < from) return;
        ++arrows_;
        const auto end = [&](const End& at, const char* phase, double moment) {
            return Json{{"ph", phase},          {"id", arrows_},   {"name", "message"}, {"cat", "message"},
                        {"pid", at.part->rank}, {"tid", at.track}, {"ts", moment}};
        };
        writer_.event(end(ends.sent, "s", from));
        Json finish = end(ends.arrived, "f", to);
        finish["bp"] = "e";
        writer_.event(finish);
    }

    const std::vector<RankPart>& parts_;
    Writer& writer_;
    double zero_ = std::numeric_limits<double>::max();
    std::map<std::string, Ends> messages_;
    std::uint64_t arrows_ = 0;
};

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

}  // namespace

void write_timeline(const std::vector<RankPart>& parts, const std::string& file) {
    Writer writer(file);
    writer.text(fmt::format("{{\"displayTimeUnit\":\"ns\",\n\"otherData\":{},\n\"traceEvents\":[",
                            Writer::print(about_trace(parts))));
    Timeline(parts, writer).write();
    writer.text("\n]}\n");
    writer.close();
}

std::vector<std::string> remarks_on_timeline(const std::vector<RankPart>& parts) {
    std::vector<std::string> remarks;
    if (parts.empty()) {
        remarks.emplace_back(
            "no rank has left anything: the program ended before MPI_Init, or the preload library was not "
            "loaded");
        return remarks;
    }
    std::uint64_t error = 0;
    std::size_t events = 0;
    for (const RankPart& part : parts) {
        events += part.events.size();
        error = std::max(error, part.clock_error());
        if (part.dropped > 0) {
            remarks.push_back(
                fmt::format("rank {}: its {} oldest events were dropped; LAPWING_TRACE_EVENTS (now {}) keeps "
                            "more of each thread",
                            part.rank, part.dropped, part.about.value("capacity", 0)));
        }
        if (!part.ended) {
            remarks.push_back(
                fmt::format("rank {} did not reach MPI_Finalize: its events end early", part.rank));
        }
    }
    const auto ranks = parts[0].about.value("ranks", std::size_t{0});
    if (parts.size() < ranks)
        remarks.push_back(fmt::format("{} of {} ranks have recorded nothing", ranks - parts.size(), ranks));
    if (events == 0) remarks.emplace_back("Lapwing ran no collective: lapwing run --report says why");
    if (error > 0)
        remarks.push_back(fmt::format("times of different hosts are comparable to within {:.1f} us",
                                      static_cast<double>(error) * 1e-3));
    return remarks;
}

}  // namespace lapwing::tool
