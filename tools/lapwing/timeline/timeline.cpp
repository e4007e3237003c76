#include "lapwing/timeline/timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/values.hpp"
#include "lapwing/common/output_file.hpp"
#include "lapwing/timeline/timeline_file.hpp"
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

class Timeline {
  public:
    Timeline(const std::vector<RankPart>& parts, const std::string& file)
        : parts_(parts), file_(parts, file) {}

    void write() {
        for (const RankPart& part : parts_) write_rank(part);
        for (const auto& [key, ends] : messages_) {
            if (ends.sent.part != nullptr && ends.arrived.part != nullptr)
                file_.arrow(ends.sent, ends.arrived);
        }
        file_.close();
    }

  private:
    void write_slice(const RankPart& part, int track, std::string name, const char* category,
                     const Event& event, Json arguments) {
        file_.slice(part, {track, std::move(name), category, event.began, event.ended, std::move(arguments)});
    }

    static std::string thread_name(const RankPart& part, std::uint16_t thread) {
        const auto found = part.threads.find(thread);
        if (found != part.threads.end() && found->second) return "lapwing";
        return fmt::format("thread {}", thread);
    }

    void write_rank(const RankPart& part) {
        file_.rank(part);
        for (const auto& [thread, ours] : part.threads) {
            const int track = track_of_thread(static_cast<std::uint16_t>(thread));
            file_.track(part, track, thread_name(part, static_cast<std::uint16_t>(thread)));
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
        for (const auto& [track, name] : tracks) file_.track(part, track, name);
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
        const Operation* operation = known != by_number.end() ? known->second : nullptr;
        const std::string function = operation != nullptr ? operation->function : "";
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

    struct Ends {
        ArrowEnd sent;
        ArrowEnd arrived;
    };

    void match_messages(const RankPart& part, const Operation& operation) {
        for (const MessageEnd& message : message_ends(operation)) {
            Ends& ends = messages_[message.key];
            (message.sent ? ends.sent : ends.arrived) = {&part, message.track, message.time};
        }
    }

    const std::vector<RankPart>& parts_;
    TimelineFile file_;
    std::map<std::string, Ends> messages_;
};

}  // namespace

void require_timeline(const std::string& file) {
    require_writable(file, "the timeline");
}

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
    std::uint64_t error = 0;
    std::size_t events = 0;
    for (const RankPart& part : parts) {
        events += part.events.size();
        error = std::max(error, part.clock_error());
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
    if (error > 0)
        remarks.push_back(fmt::format("times of different hosts are comparable to within {:.1f} us",
                                      static_cast<double>(error) * 1e-3));
    return remarks;
}

}  // namespace lapwing::tool
