// Chain forms that are right are proven, of every algorithm of the catalogue; and what is proven runs right
// on real bytes, also after random changes.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "chain_executor.hpp"
#include "chain_forms.hpp"
#include "collectives/catalogue.hpp"
#include "collectives/choices.hpp"
#include "task/checker_lists.hpp"
#include "task/sample.hpp"

namespace lapwing {
namespace {

// Hand-written lists that have a chain form, with those of the catalogue.
std::vector<ListSet> right_lists() {
    std::vector<ListSet> sets;
    for (const char* text : hand_written::all) {
        ListSet set = parse(text);
        bool has = true;
        for (const List& list : set.lists) has = has && static_cast<bool>(has_chains(list));
        if (has) sets.push_back(std::move(set));
    }
    for (const Algorithm* algorithm : catalogue()) {
        const Problem problem =
            with_blocks({.collective = algorithm->collective, .ranks = 4, .type = Type::uint32}, 8);
        const Choice choice{algorithm, default_parameters(*algorithm)};
        if (algorithm->applies(problem, choice.parameters)) sets.push_back(build_all(problem, choice));
    }
    return sets;
}

class ChainMutator {
  public:
    ChainMutator(Chains& chains, std::mt19937& random) : chains_(chains), random_(random) {
        for (Chain& chain : chains.receives) all_.push_back(&chain);
        for (Stage& stage : chains.stages) {
            for (Chain& chain : stage.chains) all_.push_back(&chain);
            beside_ = beside_ || !stage.beside.empty();
        }
    }

    void mutate() {
        if (all_.empty()) return beside_ ? move_beside() : void();
        Chain& chain = *all_[below(all_.size())];
        Chain& other = below(2) == 0 ? chain : *all_[below(all_.size())];
        if (chain.empty() || other.empty()) return;
        const std::size_t place = below(chain.size());
        const std::size_t where = below(other.size());
        Step& step = chain[place];
        switch (below(beside_ ? 9 : 8)) {
            case 0:
                chain.erase(chain.begin() + static_cast<std::ptrdiff_t>(place));
                return;
            case 1:
                other.insert(other.begin() + static_cast<std::ptrdiff_t>(where), Step(step));
                return;
            case 2:
            case 3:
                return std::swap(step, other[where]);
            case 4: {
                const Step moved = step;
                chain.erase(chain.begin() + static_cast<std::ptrdiff_t>(place));
                other.insert(other.begin() + static_cast<std::ptrdiff_t>(std::min(where, other.size())),
                             moved);
                return;
            }
            case 5:
                if (step.gate >= 0) step.gate = static_cast<std::int32_t>(below(chains_.gates));
                return;
            case 6:
                if (step.kind == Step::Kind::await) step.count = 1 + below(3);
                return;
            case 8:
                return move_beside();
            default:
                return move_local();
        }
    }

  private:
    std::size_t below(std::size_t n) { return random_() % n; }

    void move_local() {
        std::vector<Task>& from = chains_.stages[below(chains_.stages.size())].local;
        std::vector<Task>& to =
            below(3) == 0 ? chains_.last : chains_.stages[below(chains_.stages.size())].local;
        if (from.empty()) return;
        const Task task = from.back();
        from.pop_back();
        to.insert(to.begin(), task);
    }

    // Among the host steps, in the list's order or not; or an inter-node wait is left out.
    void move_beside() {
        Stage& stage = chains_.stages[below(chains_.stages.size())];
        if (stage.beside.empty()) return;
        const auto place = [&](std::vector<Task>& tasks) {
            return tasks.begin() + static_cast<std::ptrdiff_t>(below(tasks.size()));
        };
        switch (below(3)) {
            case 0:
                stage.local.push_back(stage.beside.front());
                stage.beside.erase(stage.beside.begin());
                return;
            case 1:
                if (!stage.local.empty()) {
                    stage.beside.insert(stage.beside.begin(), stage.local.back());
                    stage.local.pop_back();
                }
                return;
            default:
                stage.beside.erase(place(stage.beside));
        }
    }

    Chains& chains_;
    std::mt19937& random_;
    std::vector<Chain*> all_;
    bool beside_ = false;
};

struct Changed {
    int proven = 0;  // and another than before
    int refused = 0;
};

// With the ranks on hosts of their own, and with several on a host.
Changed change(int times) {
    std::mt19937 random(11);
    Changed changed;
    for (const ListSet& set : right_lists()) {
        const auto all = sample_hosts(set.problem.ranks);
        for (const ChainLimits& limits : {ChainLimits{}, nothing_in_line, ChainLimits{0, 3, 4, 2}}) {
            for (int i = 0; i < times; ++i) {
                const Formed right = form(set, limits, all[static_cast<std::size_t>(i) % all.size()]);
                Formed formed = right;
                for (int n = i % 3; n >= 0; --n) {
                    ChainMutator(formed.chains[random() % formed.chains.size()], random).mutate();
                }
                if (verdict_of(formed) != "proven") {
                    ++changed.refused;
                    continue;
                }
                changed.proven += formed.chains == right.chains ? 0 : 1;
                for (int run = 0; run < 3; ++run) {
                    EXPECT_TRUE(chains_run_right(set.problem, formed.chains,
                                                 std::max<std::uint64_t>(limits.eager_bytes, 1), random,
                                                 formed.hosts))
                        << print(formed);
                    if (testing::Test::HasFailure()) return changed;
                }
            }
        }
    }
    return changed;
}

TEST(ChainModel, ProvesRightChains) {
    for (const ListSet& set : right_lists()) {
        for (const std::vector<int>& hosts : sample_hosts(set.problem.ranks)) {
            const auto fault = check_chains(set.lists, {}, hosts);
            EXPECT_FALSE(fault) << fault->what(set.lists) << '\n' << print(set);
        }
    }
}

TEST(SlowChainModel, ProvesTheWholeCatalogue) {
    for (const int ranks : {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17}) {
        for_each_problem(ranks, ranks < 6 ? 600 : 24, [](const Problem& problem, const Choice& choice) {
            const ListSet set = build_all(problem, choice);
            const auto fault = check_chains_on_hosts(set.lists);
            ASSERT_FALSE(fault) << print(problem) << " " << set.algorithm << ": " << fault->what(set.lists);
        });
        if (HasFatalFailure()) return;
    }
}

TEST(SlowChainModel, AProofHoldsOnRealBytes) {
    std::mt19937 random(5);
    for (const ListSet& set : right_lists()) {
        for (const ChainLimits& limits : {ChainLimits{}, nothing_in_line, ChainLimits{0, 3, 3, 1}}) {
            for (const std::vector<int>& hosts : sample_hosts(set.problem.ranks)) {
                const Formed formed = form(set, limits, hosts);
                for (int i = 0; i < 5; ++i) {
                    EXPECT_TRUE(chains_run_right(set.problem, formed.chains,
                                                 std::max<std::uint64_t>(limits.eager_bytes, 1 + i % 2),
                                                 random, hosts))
                        << print(set) << print(formed.chains[0]);
                }
            }
        }
    }
}

TEST(SlowChainModel, AProofHoldsOnRealBytesAfterRandomChanges) {
    const Changed changed = change(240);
    EXPECT_GT(changed.refused, 1500);
    EXPECT_GT(changed.proven, 200);  // sends to different peers may change places, for one
}

}  // namespace
}  // namespace lapwing
