#include "lapwing/timeline/tracks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "task/problem.hpp"

namespace lapwing::tool {
namespace {

using Json = nlohmann::ordered_json;
using trace::Event;
using trace::What;

// Places for intervals that come in the order of their beginnings: the first that is free.
class Places {
  public:
    int take(std::uint64_t began, std::uint64_t ended) {
        const auto free =
            std::find_if(ends_.begin(), ends_.end(), [&](std::uint64_t end) { return end <= began; });
        const auto place = free - ends_.begin();
        if (free == ends_.end()) {
            ends_.push_back(ended);
        } else {
            *free = ended;
        }
        return static_cast<int>(place);
    }

  private:
    std::vector<std::uint64_t> ends_;
};

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

}  // namespace

int Operation::member(int peer) const {
    if (group == nullptr) return -1;
    const Json& members = group->at("members");
    return static_cast<std::size_t>(peer) < members.size()
               ? members[static_cast<std::size_t>(peer)].get<int>()
               : -1;
}

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
        std::stable_sort(operation.tasks.begin(), operation.tasks.end(),
                         [](const Event& a, const Event& b) { return a.ended < b.ended; });
        std::stable_sort(operation.chains.begin(), operation.chains.end(),
                         [](const auto& a, const auto& b) { return a.first.began < b.first.began; });
        Places places;
        for (auto& [chain, place] : operation.chains) place = places.take(chain.began, chain.ended);
        if (operation.complete || !operation.tasks.empty()) operations.push_back(std::move(operation));
    }
    std::stable_sort(operations.begin(), operations.end(),
                     [](const Operation& a, const Operation& b) { return a.began < b.began; });
    Places places;
    for (Operation& operation : operations) operation.place = places.take(operation.began, operation.ended);
    return operations;
}

std::vector<MessageEnd> message_ends(const Operation& operation) {
    std::vector<MessageEnd> ends;
    if (!operation.complete || operation.plan == nullptr || operation.group == nullptr) return ends;
    if (operation.plan->at("tasks").get<std::size_t>() != operation.tasks.size()) return ends;
    const Json& members = operation.group->at("members");
    if (members.empty()) return ends;
    const std::string group = fmt::format("{} {} {}", operation.group->at("agreed").get<std::uint64_t>(),
                                          members.dump(), operation.which);
    const int self = operation.group->at("rank").get<int>();
    std::vector<Event> tasks = operation.tasks;
    std::sort(tasks.begin(), tasks.end(), [](const Event& a, const Event& b) { return a.index < b.index; });
    std::map<int, std::uint64_t> sent;
    std::map<int, std::uint64_t> received;
    std::map<int, std::uint64_t> arrived;
    const auto add_end = [&](int from, int to, std::uint64_t number, bool is_sent, int track,
                             std::uint64_t time) {
        ends.push_back({fmt::format("{} {} {} {}", group, from, to, number), is_sent, track, time});
    };
    // The kernel's own moment is not known: it is not before the chain was handed over.
    const auto sent_at = [&](const Event& task) -> std::pair<int, std::uint64_t> {
        if (task.what == What::task) return {operation.track(), task.began};
        for (const auto& [chain, place] : operation.chains) {
            if (chain.kind == 1 && chain.began <= task.ended && task.ended <= chain.ended)
                return {operation.track() + 1 + place, chain.began};
        }
        return {operation.track(), task.began};
    };
    for (const Event& task : tasks) {
        const auto kind = static_cast<Kind>(task.kind);
        if (sends(kind)) {
            const auto [track, time] = sent_at(task);
            add_end(self, task.peer, sent[task.peer]++, true, track, time);
        } else if (kind == Kind::recv && task.what == What::seen) {
            add_end(task.peer, self, received[task.peer]++, false, operation.track(), task.ended);
        } else if (kind == Kind::wait && task.what == What::task) {
            // The last moment of the slice of the wait.
            const std::uint64_t time = std::max(task.began, task.ended - 1);
            for (std::uint64_t n = 0; n < task.bytes; ++n)
                add_end(task.peer, self, arrived[task.peer]++, false, operation.track(), time);
        }
    }
    return ends;
}

}  // namespace lapwing::tool
