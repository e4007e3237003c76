// Lists that a user has written, in place of an algorithm of the catalogue. They come from a list file
// (task/text.hpp), as all lists of one collective. Lists with parts are declined: a rank of a program does
// not know the blocks of other ranks.
//
// A set of the file serves problems of its ranks and root: in chunks (task/scaling.hpp), of all its sizes,
// operators and types; otherwise the one problem that it names. A set that is not in place serves problems in
// place, too, on copies of the input and of the result.
//
// A set is proven when a problem first needs it: matching, deadlock, hazards and provenance. A set that fails
// is declined, and the reason is the counter-example.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "collectives/algorithm.hpp"
#include "task/text.hpp"

namespace lapwing {

// Thread-safe.
class UserLists {
  public:
    // `sets` are of one collective. `file` names them in messages; `fingerprint` is of the file's text.
    UserLists(std::string file, std::uint64_t fingerprint, std::vector<ParsedSet> sets);
    UserLists(const UserLists&) = delete;
    UserLists& operator=(const UserLists&) = delete;

    // Its name is "file:FILE".
    const Algorithm& algorithm() const { return algorithm_; }
    const std::string& file() const { return file_; }
    std::uint64_t fingerprint() const { return fingerprint_; }

    Verdict applies(const Problem& problem) const;
    // applies() must have returned yes.
    List build(const Problem& problem, int rank) const;

    // Returns why the lists for a problem are wrong, as "my.lists:7: hazard: rank 1, task 3 (...): ...";
    // empty if they are right, or if the file has none for it.
    std::string refusal(const Problem& problem) const;

  private:
    // What is known of a set once it has been tried.
    struct Proof {
        std::string counter_example;  // why the lists are wrong; empty: they are right
        bool in_order = false;        // contributions are combined in rank order
        bool in_place = false;        // the lists that work on copies are right
        bool aligned = false;         // see task/scaling.hpp
    };
    struct Set {
        ParsedSet parsed;
        std::uint64_t max_scratch = 0;  // of a rank
        mutable std::optional<Proof> proof;
    };
    // The set that takes a problem, and why none does: the reason of the set that fits best.
    struct Found {
        const Set* set = nullptr;
        Verdict verdict = Verdict::yes();
    };

    Found find(const Problem& problem) const;
    const Proof& proof_of(const Set& set) const;
    Proof prove(const Set& set) const;

    std::string file_;
    std::string name_;
    std::uint64_t fingerprint_;
    std::vector<Set> sets_;
    Algorithm algorithm_;
    mutable std::mutex mutex_;  // of the proofs
};

}  // namespace lapwing
