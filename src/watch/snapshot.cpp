#include "watch/snapshot.hpp"

namespace lapwing::watch {

std::vector<RankRun> runs_of(std::span<const int> ranks) {
    std::vector<RankRun> runs;
    for (const int rank : ranks) {
        if (!runs.empty()) {
            RankRun& last = runs.back();
            if (last.count == 1) last.stride = rank - last.first;
            if (rank == last.first + last.count * last.stride) {
                ++last.count;
                continue;
            }
        }
        runs.push_back({rank, 1, 1});
    }
    return runs;
}

std::vector<int> ranks_of(std::span<const RankRun> runs, int limit) {
    std::vector<int> ranks;
    for (const RankRun& run : runs) {
        std::int64_t rank = run.first;
        for (int i = 0; i < run.count && rank >= 0 && rank < limit; ++i, rank += run.stride) {
            if (ranks.size() == static_cast<std::size_t>(limit)) return ranks;
            ranks.push_back(static_cast<int>(rank));
        }
    }
    return ranks;
}

}  // namespace lapwing::watch
