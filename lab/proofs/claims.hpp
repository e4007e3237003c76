// What a certificate says of its arrays and messages, for any rank.
#pragma once

#include <string>
#include <vector>

#include "proofs/certificate.hpp"

namespace lapwing::proofs {

// Tasks of the lists that a certificate describes, for any rank and any value of their loop's variable.
inline const Expression ranks = variable("P");
inline const Expression here = variable("r");

inline Expression less(Expression a, Expression b) {
    return operation("<", {std::move(a), std::move(b)});
}
inline Expression at_most(Expression a, Expression b) {
    return operation("<=", {std::move(a), std::move(b)});
}
inline Expression plus(Expression a, Expression b) {
    return operation("+", {std::move(a), std::move(b)});
}
inline Expression index_of(const Blocks& blocks) {
    return blocks.index == nullptr ? number(0) : blocks.index;
}

// A task of one rank: a step of the list with a value of its loop's variable.
struct Instance {
    const Step* step;
    Expression value;  // null outside of loops
    Expression rank;

    Expression in(const Expression& expression) const {
        Substitution substitution{{"r", rank}};
        if (value != nullptr) substitution[step->variable] = value;
        return replace(expression, substitution);
    }
    Blocks in(const Blocks& blocks) const {
        return {blocks.array, in(index_of(blocks)), in(blocks.block), in(blocks.count)};
    }
    Expression exists() const {
        if (step->variable.empty()) return in(step->condition);
        if (value == nullptr) return truth(false);
        const Expression last = in(step->last);
        if (!step->powers)
            return all_of({at_most(in(step->first), value), at_most(value, last), in(step->condition)});
        const Expression bit = operation("&", {value, operation("-", {value, number(1)})});
        return all_of(
            {at_most(number(1), value), equal(bit, number(0)), less(value, last), in(step->condition)});
    }
};

inline Expression before(const Instance& a, const Instance& b) {
    if (a.step->section != b.step->section) return truth(a.step->section < b.step->section);
    if (a.value == nullptr || b.value == nullptr) return truth(false);
    const Expression earlier = a.step->down ? less(b.value, a.value) : less(a.value, b.value);
    if (a.step->position >= b.step->position) return earlier;
    return any_of({earlier, equal(a.value, b.value)});
}

inline Expression covers(const Blocks& blocks, const Expression& index, const Expression& block) {
    return all_of({equal(index_of(blocks), index), at_most(blocks.block, block),
                   less(block, plus(blocks.block, blocks.count))});
}

inline Expression overlap(const Blocks& a, const Blocks& b) {
    return all_of({equal(index_of(a), index_of(b)), less(a.block, plus(b.block, b.count)),
                   less(b.block, plus(a.block, a.count))});
}

class Claims {
  protected:
    explicit Claims(const Certificate& certificate)
        : certificate_(certificate), meaning_(meaning_of(certificate.algorithms.front().first)) {}

    struct Content {
        Expression holds;
        Expression origin;
    };
    struct Chosen {
        Expression condition;
        Instance writer;
    };

    [[noreturn]] static void refuse(const std::string& why);
    static bool writes(const Step& step);
    // The array whose memory this is.
    std::string storage(const std::string& name) const;
    bool is_family(const std::string& name) const;
    Expression size_of(const Blocks& blocks, const Expression& rank) const;
    Content content(const std::string& name, const Expression& index, const Expression& block,
                    const Expression& rank) const;
    Content content(const Blocks& span, const Expression& rank) const;
    // What wrote a block, in cases.
    std::vector<Chosen> writers(const std::string& name, const Expression& index, const Expression& block,
                                const Expression& rank) const;
    // A task of rank r, whose loop variable has any value. The second of two gets another name.
    static Instance any(const Step& step, const std::string& mark = "", Expression rank = here);
    // The tasks of a rank that may send or receive the message with this tag, if they exist.
    std::vector<Instance> matching(TaskKind kind, const Expression& rank, const Expression& tag) const;
    // Whether `task` is the other end of the message between r and its peer.
    static Expression meets(const Instance& task, const Expression& tag);
    Expression count_of(const Instance& task) const;
    std::vector<Instance> waits_for(const Step& receive, const Expression& value,
                                    const Expression& rank) const;
    // Whether a wait that exists completes this receive.
    static Expression completes(const Instance& wait, const Expression& value);
    Instance received(const Instance& wait) const;
    // Whether the writer exists, writes the block, and is complete before the reader; without reader: at the
    // end.
    Expression written(const Instance& writer, const Expression& index, const Expression& block,
                       const Instance* reader) const;
    // Any block of a span.
    static Expression offset() { return variable("j"); }
    static Expression within(const Blocks& span) {
        return all_of({at_most(number(0), offset()), less(offset(), span.count)});
    }

    const Certificate& certificate_;
    const Meaning& meaning_;
};

}  // namespace lapwing::proofs
