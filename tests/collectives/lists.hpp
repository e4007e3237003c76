// What tests ask of a list.
#pragma once

#include "collectives/catalogue.hpp"
#include "problems.hpp"
#include "support/unit.hpp"

namespace lapwing {

inline List list_of(Collective collective, const char* choice, int ranks, int rank, std::uint64_t bytes = 8,
                    int root = 0) {
    return build(problem_of(collective, ranks, root, collective == Collective::barrier ? 0 : bytes), rank,
                 parse_choice(collective, choice));
}

inline std::set<int> peers_of(const List& list) {
    std::set<int> peers;
    for (const Task& task : list.tasks)
        if (task.peer >= 0) peers.insert(task.peer);
    return peers;
}

inline std::size_t count(const List& list, Kind kind) {
    return static_cast<std::size_t>(std::count_if(list.tasks.begin(), list.tasks.end(),
                                                  [&](const Task& task) { return task.kind == kind; }));
}

inline std::uint64_t bytes_sent(const List& list) {
    std::uint64_t bytes = 0;
    for (const Task& task : list.tasks)
        if (sends(task.kind)) bytes += task.source.length;
    return bytes;
}

// The number of sends that a list has started and that no wait has followed, at most.
inline std::size_t max_in_flight(const List& list) {
    std::size_t most = 0;
    std::size_t now = 0;
    for (const Task& task : list.tasks) {
        if (sends(task.kind)) most = std::max(most, ++now);
        if (task.kind == Kind::wait) now -= std::min<std::size_t>(now, task.count);
    }
    return most;
}

}  // namespace lapwing
