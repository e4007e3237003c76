// What `lapwing verify` proves: list files; or every algorithm of the catalogue, with its parameters, for
// many numbers of ranks and for problems of every form, or random ones.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collectives/algorithm.hpp"
#include "task/checker.hpp"

namespace lapwing::tool {

// Proves the lists of files. Prints what was found, one file after the other; returns the exit status. With
// `chains` also proves the chain forms of lists that have one.
int verify_files(const std::vector<std::string>& files, const CheckLimits& limits, bool chains);

struct RankRange {
    int first = 1;
    int last = 1;
};

struct Work {
    std::vector<Choice> choices;
    RankRange ranks{1, 64};
    CheckLimits limits;
    bool chains = true;  // also prove the chain forms
    // Random problems of each algorithm, one of them of the largest number of ranks; 0: problems of every
    // form.
    int samples = 0;
    std::uint64_t seed = 1;
};

// All algorithms, or those of a collective, or with a name; each with several values of its parameters unless
// `algorithm` gives some. Throws Error (invalid_argument) for an unknown algorithm.
std::vector<Choice> choices_to_verify(std::optional<Collective> collective, const std::string& algorithm);

struct Tally {
    std::uint64_t lists = 0;   // proved
    std::uint64_t chains = 0;  // chain forms of lists, proved
    std::uint64_t problems = 0;
    std::uint64_t declined = 0;
    std::string why_declined;  // the reason for the first of them
    std::uint64_t longest_queue = 0;
    int max_ranks = 0;  // of a proved problem
    std::uint64_t violations = 0;

    void add(const Tally& other);
};

struct CounterExample {
    Problem problem;
    Choice choice;
    std::string what;
};

struct Outcome {
    std::map<const Algorithm*, Tally> tallies;
    std::vector<CounterExample> examples;  // those with the fewest ranks

    Tally total() const;
    // No algorithm applied to any problem: nothing is proved, though nothing is wrong.
    bool nothing_applied() const { return total().problems == 0; }
};

// Shows a progress bar, and uses all available processors.
Outcome verify_all(const Work& work);

// Prints for which numbers of ranks each algorithm is proven already.
void print_proven(std::span<const Choice> choices);

}  // namespace lapwing::tool
