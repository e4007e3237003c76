// A certificate: the lists of one algorithm for every number of ranks, with what proves them right. README.md
// describes the text form.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proofs/expression.hpp"

namespace lapwing::proofs {

// Blocks [block, block + count) of an array; of member `index` if the array is a family.
struct Blocks {
    std::string array;
    Expression index;  // null: the array is no family
    Expression block;
    Expression count;
};

enum class TaskKind { allocate, recv, send, wait, copy, reduce, join };

// A task of the list, once for each value of its loop's variable for which the condition holds.
struct Step {
    std::string label;
    TaskKind kind = TaskKind::wait;
    int section = 0;   // of the list: a loop, or a task outside of loops
    int position = 0;  // in the body of the loop
    // The loop: variable from first to last, or powers of two below last. The variable is empty outside of
    // loops.
    std::string variable;
    Expression first;
    Expression last;
    bool powers = false;
    bool down = false;

    Expression condition;
    Expression peer;       // send, recv
    Expression tag;        // send, recv: the number of the message between the two ranks
    Expression time;       // send, wait
    Blocks target;         // allocate, recv, copy, reduce, join
    Blocks old;            // reduce: what the target's memory held before; join: the first operand
    Blocks source;         // send, copy, reduce, join
    std::string receives;  // wait: the label of the receive that it completes,
    Expression receive;    // and the value of that receive's loop variable; null outside of loops
};

// What wrote a block, if the condition holds and no earlier writer's does.
struct Writer {
    std::string label;
    Expression value;  // of the loop variable; null outside of loops
    Expression condition;
};

struct Array {
    std::string name;
    std::string base;    // the array whose memory this is, after a reduction; empty: memory of its own
    bool ghost = false;  // has no memory: what ranks know in a barrier
    std::string index;   // the variable of a family, in `size`, `holds` and `origin`; empty: no family
    Expression size;     // blocks
    Expression
        layout;  // scratch: the first block of the vector whose lengths the blocks have; null: one length
    std::string block;  // the variable of `holds`, `origin` and the writers
    Expression holds;   // whether a block has the contribution of rank x
    Expression origin;  // the block of these ranks' input
    std::vector<Writer> writers;
};

// The array that has the result, if the condition holds and no earlier one's does.
struct Final {
    Blocks from;
    Expression condition;
};

struct Certificate {
    std::vector<std::pair<std::string, std::string>> algorithms;  // collective and name
    Expression applies;                                           // the numbers of ranks
    Expression parts;       // into how many blocks the vector is cut, for collectives of one vector
    bool in_place = false;  // the proof covers problems in place
    bool ordered = false;   // the proof covers operators that do not commute
    std::vector<Array> arrays;
    std::vector<Step> steps;
    std::string block;  // the variable of `final`
    std::vector<Final> final;

    const Array* array(std::string_view name) const;
    const Step* step(std::string_view label) const;
};

// Throws Error (parse) with the line.
Certificate parse_certificate(std::string_view text);
Expression parse_expression(std::string_view text);

// What a collective must do, in the terms of certificates; the array `in` holds block `block` of rank r's
// input.
struct Meaning {
    Expression in_size;
    Expression out_size;
    Expression holds;     // whether block `block` of out has the contribution of rank x at the end
    Expression origin;    // and the block of its input
    Expression exists;    // whether the block has bytes
    Expression in_place;  // the block of out in which block `block` of the input lies; null: never in place
};
const Meaning& meaning_of(const std::string& collective);

}  // namespace lapwing::proofs
