// What several threads count at once.
#include "mpi/job/report.hpp"
#include "support/unit.hpp"

namespace lapwing {
namespace {

TEST(Report, CountsCallsOfAllThreadsThatAreLeftToTheMpi) {
    constexpr int threads = 2;
    constexpr int calls = 5'000'000;
    Report report;
    std::atomic<int> ready{0};
    std::vector<std::thread> running;
    for (int i = 0; i < threads; ++i) {
        running.emplace_back([&] {
            ++ready;
            while (ready < threads) {
            }
            for (int call = 0; call < calls; ++call)
                report.count_fallback(Collective::barrier, Fallback::no_hook);
        });
    }
    for (std::thread& thread : running) thread.join();
    EXPECT_EQ(report.of(Collective::barrier).fell_back[static_cast<std::size_t>(Fallback::no_hook)],
              static_cast<std::uint64_t>(threads) * calls);
}

}  // namespace
}  // namespace lapwing
