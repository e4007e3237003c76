// Lists as a certificate describes them, at one number of ranks.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "collectives/catalogue.hpp"
#include "collectives/vector_blocks.hpp"
#include "proofs/certificate.hpp"
#include "task/builder.hpp"

namespace lapwing::proofs {

class Instantiation {
  public:
    explicit Instantiation(const Certificate& certificate);

    // Sets the problem; it must outlive the calls below. `window` is the value of the algorithm's parameter
    // of this name, if there is one.
    void set(const Problem& problem, std::int64_t window);
    // Whether the certificate is about the problem's number of ranks, and its form.
    bool covers();
    List list(int rank);
    // Returns how meaning_of() and task/result.hpp differ about a rank's memory; empty if they agree.
    std::string difference_in_meaning(int rank);

  private:
    struct Part {
        std::string array;  // whose memory it is; empty: no blocks
        bool ghost = false;
        Program index;
        Program block;
        Program count;
    };
    struct Compiled {
        const Step* step = nullptr;
        std::size_t variable = 0;  // slot
        Program first;
        Program last;
        Program condition;
        Program peer;
        Program size;
        Program layout;
        Part target;
        Part old;
        Part source;
        Program receive;
        std::size_t received = 0;  // the step whose receive a wait completes
    };
    // A span of scratch whose blocks begin at begin(first), begin(first + 1), ...
    struct Memory {
        Span span;
        std::int64_t first = 0;
    };

    Program compile(const Expression& expression) const { return proofs::compile(expression, slots_); }
    Part compile(const Blocks& blocks) const;
    void set_rank(int rank);
    void emit(const Compiled& step, Builder& builder);
    Span span(const Part& part);
    bool some(std::int64_t from, std::int64_t to) const;
    std::uint64_t begin(std::int64_t block) const;  // bytes before a block of the vector or of equal blocks

    const Certificate& certificate_;
    const Meaning& meaning_;
    Slots slots_;
    Values values_;
    std::vector<Compiled> steps_;
    Program applies_;
    Program parts_program_;
    const Problem* problem_ = nullptr;
    int rank_ = 0;
    std::int64_t parts_ = 1;
    std::vector<VectorBlocks> vector_;  // of reductions; none or one
    std::unordered_map<std::string, std::unordered_map<std::int64_t, Memory>> scratch_;
};

}  // namespace lapwing::proofs
