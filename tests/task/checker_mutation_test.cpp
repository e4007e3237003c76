// Right lists with a task or two deleted, doubled, moved or altered at random. Where the checker still proves
// them, they must run right in every order that is tried; where it tells of a deadlock or of wrong bytes,
// those must be seen.
#include <gtest/gtest.h>

#include <iterator>
#include <map>

#include "checker_executor.hpp"
#include "checker_lists.hpp"
#include "task/checker.hpp"
#include "task/text.hpp"

namespace lapwing {
namespace {

class Mutator {
  public:
    Mutator(ListSet& set, std::mt19937& random) : set_(set), random_(random) {}

    void mutate() {
        List& list = set_.lists[below(set_.lists.size())];
        if (list.tasks.empty()) return;
        const auto place = list.tasks.begin() + static_cast<std::ptrdiff_t>(below(list.tasks.size()));
        const auto other = list.tasks.begin() + static_cast<std::ptrdiff_t>(below(list.tasks.size()));
        switch (below(5)) {
            case 0:
                list.tasks.erase(place);
                break;
            case 1:
                list.tasks.insert(other, Task(*place));
                break;
            case 2:
                std::swap(*place, *other);
                break;
            default:
                alter(*place);
                break;
        }
    }

  private:
    std::size_t below(std::size_t n) { return random_() % n; }

    void alter(Task& task) {
        const unsigned has = fields(task.kind);
        switch (below(4)) {
            case 0:
                if ((has & PEER) != 0) task.peer = static_cast<std::int32_t>(below(set_.lists.size()));
                break;
            case 1:
                if ((has & COUNT) != 0) task.count = below(4);
                break;
            case 2:
                if ((has & TARGET) != 0) alter(task.target);
                break;
            default:
                if ((has & SOURCE) != 0) alter(task.source);
                break;
        }
    }

    void alter(Span& span) {
        constexpr std::uint64_t steps[] = {1, 2, 4, 8};
        const std::uint64_t step = steps[below(4)];
        switch (below(5)) {
            case 0:
                span.offset += step;
                break;
            case 1:
                span.offset -= step;
                break;
            case 2:
                span.length += step;
                break;
            case 3:
                span.length -= step;
                break;
            default:
                span.space = static_cast<Space>(below(3));
                break;
        }
    }

    ListSet& set_;
    std::mt19937& random_;
};

constexpr int runs = 6;

bool every_run_is(Outcome wanted, const ListSet& set, std::mt19937& random, bool buffered) {
    for (int run = 0; run < runs; ++run) {
        if (execute(set, random, buffered) != wanted) return false;
    }
    return true;
}

bool some_run_is(Outcome wanted, const ListSet& set, std::mt19937& random, bool buffered) {
    for (int run = 0; run < runs; ++run) {
        if (execute(set, random, buffered) == wanted) return true;
    }
    return false;
}

// How many mutants of the text came to which verdict; "proven" is one.
std::map<std::string, int> count_verdicts(const char* text, int mutants, unsigned seed) {
    std::map<std::string, int> verdicts;
    const ListSet right = parse(text);
    std::mt19937 random(seed);
    for (int i = 0; i < mutants; ++i) {
        ListSet set = right;
        Mutator mutator(set, random);
        mutator.mutate();
        if (i % 3 == 0) mutator.mutate();
        const std::vector<Violation> violations = check(set.problem, set.lists);
        if (violations.empty()) {
            EXPECT_TRUE(every_run_is(Outcome::right, set, random, true)) << print(set);
            EXPECT_TRUE(every_run_is(Outcome::right, set, random, false)) << print(set);
            ++verdicts["proven"];
            continue;
        }
        const Violation& first = violations.front();
        const std::string what = first.what(set.lists);
        ++verdicts[name(first.rule)];
        if (first.rule == Rule::deadlock) {
            const bool when_unbuffered_only = first.why.starts_with("when sends are not buffered");
            EXPECT_TRUE(every_run_is(Outcome::stuck, set, random, false)) << what << '\n' << print(set);
            EXPECT_EQ(every_run_is(Outcome::stuck, set, random, true), !when_unbuffered_only) << what << '\n'
                                                                                              << print(set);
        } else if (first.rule == Rule::provenance) {
            EXPECT_TRUE(some_run_is(Outcome::wrong, set, random, true)) << what << '\n' << print(set);
        }
    }
    return verdicts;
}

TEST(CheckerMutation, TheListsThemselvesRunRight) {
    std::mt19937 random(7);
    for (const char* text : hand_written::all) {
        const ListSet set = parse(text);
        EXPECT_TRUE(every_run_is(Outcome::right, set, random, true)) << text;
        EXPECT_TRUE(every_run_is(Outcome::right, set, random, false)) << text;
    }
}

TEST(SlowCheckerMutation, AProofHoldsInEveryRun) {
    constexpr int mutants = 1500;
    std::map<std::string, int> total;
    unsigned seed = 1;
    for (const char* text : hand_written::all) {
        for (const auto& [verdict, count] : count_verdicts(text, mutants, seed++)) total[verdict] += count;
    }
    std::string counts;
    for (const auto& [verdict, count] : total) counts += verdict + " " + std::to_string(count) + "\n";
    // Every rule has been at work, and most mutations do harm.
    for (const char* rule : {"form", "matching", "deadlock", "hazard", "provenance"}) {
        EXPECT_GT(total[rule], 20) << counts;
    }
    EXPECT_GT(total["proven"], 20) << counts;
    EXPECT_LT(total["proven"], static_cast<int>(std::size(hand_written::all)) * mutants / 2) << counts;
    RecordProperty("verdicts", counts);
}

}  // namespace
}  // namespace lapwing
