// What a certificate says of its arrays and messages, for any rank.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "base/error.hpp"
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

    [[noreturn]] static void refuse(const std::string& why) { throw Error(ErrorCode::invalid_argument, why); }
    static bool writes(const Step& step) {
        return step.kind == TaskKind::recv || step.kind == TaskKind::copy || step.kind == TaskKind::reduce ||
               step.kind == TaskKind::join;
    }
    // The array whose memory this is.
    std::string storage(const std::string& name) const {
        const Array* array = certificate_.array(name);
        return array == nullptr || array->base.empty() ? name : storage(array->base);
    }
    bool is_family(const std::string& name) const {
        const Array* array = certificate_.array(name);
        return array != nullptr && !array->index.empty();
    }
    Expression size_of(const Blocks& blocks) const {
        const std::string name = storage(blocks.array);
        if (name == "in") return replace(meaning_.in_size, {{"parts", certificate_.parts}});
        if (name == "out") return replace(meaning_.out_size, {{"parts", certificate_.parts}});
        const Array& array = *certificate_.array(name);
        return replace(array.size, {{array.index, index_of(blocks)}});
    }

    Content content(const std::string& name, const Expression& index, const Expression& block,
                    const Expression& rank) const {
        if (name == "in") return {equal(variable("x"), rank), block};
        const Array& array = *certificate_.array(name);
        const Substitution substitution{{"r", rank}, {array.index, index}, {array.block, block}};
        return {replace(array.holds, substitution), replace(array.origin, substitution)};
    }

    Content content(const Blocks& span, const Expression& rank) const {
        return content(span.array, index_of(span), plus(span.block, offset()), rank);
    }
    // What wrote a block, in cases.
    std::vector<Chosen> writers(const std::string& name, const Expression& index,
                                const Expression& block) const {
        const Array& array = *certificate_.array(name);
        const Substitution substitution{{array.index, index}, {array.block, block}};
        std::vector<Chosen> chosen;
        std::vector<Expression> earlier;
        for (const Writer& writer : array.writers) {
            const Expression condition = replace(writer.condition, substitution);
            std::vector<Expression> all = earlier;
            all.push_back(condition);
            const Expression value = writer.value == nullptr ? nullptr : replace(writer.value, substitution);
            chosen.push_back({all_of(all), {certificate_.step(writer.label), value, here}});
            earlier.push_back(negation(condition));
        }
        return chosen;
    }

    // A task of rank r, whose loop variable has any value. The second of two gets another name.
    static Instance any(const Step& step, const std::string& mark = "") {
        return {&step, step.variable.empty() ? nullptr : variable(step.variable + mark), here};
    }
    // The tasks of a rank that may send or receive the message with this tag, if they exist.
    std::vector<Instance> matching(TaskKind kind, const Expression& rank, const Expression& tag) const {
        std::vector<Instance> found;
        for (const Step& step : certificate_.steps) {
            if (step.kind != kind) continue;
            Instance task{&step, nullptr, rank};
            if (!step.variable.empty() && uses(step.tag, step.variable))
                task.value = solve(replace(step.tag, {{"r", rank}}), step.variable, tag);
            else if (!step.variable.empty())
                refuse(fmt::format("the tag of {} does not depend on its loop", step.label));
            if (!step.variable.empty() && task.value == nullptr)
                refuse(fmt::format("the tag of {} cannot be solved", step.label));
            found.push_back(task);
        }
        return found;
    }

    // Whether `task` is the other end of the message between r and its peer.
    static Expression meets(const Instance& task, const Expression& tag) {
        return all_of(
            {task.exists(), equal(task.in(task.step->peer), here), equal(task.in(task.step->tag), tag)});
    }
    Expression count_of(const Instance& task) const {
        const Step& step = *task.step;
        return task.in(step.kind == TaskKind::send ? step.source.count : step.target.count);
    }
    std::vector<Instance> waits_for(const Step& receive, const Expression& value) const {
        std::vector<Instance> found;
        for (const Step& step : certificate_.steps) {
            if (step.kind != TaskKind::wait || step.receives != receive.label) continue;
            Instance task{&step, nullptr, here};
            if (!step.variable.empty()) {
                task.value = solve(step.receive, step.variable, value);
                if (task.value == nullptr)
                    refuse(fmt::format("the receive of {} cannot be solved", step.label));
            }
            found.push_back(task);
        }
        return found;
    }

    // Whether a wait that exists completes this receive.
    static Expression completes(const Instance& wait, const Expression& value) {
        if (value == nullptr) return wait.exists();
        return all_of({wait.exists(), equal(wait.in(wait.step->receive), value)});
    }
    Instance received(const Instance& wait) const {
        return {certificate_.step(wait.step->receives),
                wait.step->receive == nullptr ? nullptr : wait.in(wait.step->receive), wait.rank};
    }
    // Whether the writer exists, writes the block, and is complete before the reader; without reader: at the
    // end.
    Expression written(const Instance& writer, const Expression& index, const Expression& block,
                       const Instance* reader) const {
        std::vector<Expression> all = {writer.exists(), covers(writer.in(writer.step->target), index, block)};
        if (writer.step->kind != TaskKind::recv) {
            if (reader != nullptr) all.push_back(before(writer, *reader));
            return all_of(all);
        }
        std::vector<Expression> cases;
        for (const Instance& wait : waits_for(*writer.step, writer.value)) {
            cases.push_back(all_of(
                {completes(wait, writer.value), reader == nullptr ? truth(true) : before(wait, *reader)}));
        }
        all.push_back(any_of(cases));
        return all_of(all);
    }

    // Any block of a span.
    static Expression offset() { return variable("j"); }
    static Expression within(const Blocks& span) {
        return all_of({at_most(number(0), offset()), less(offset(), span.count)});
    }

    const Certificate& certificate_;
    const Meaning& meaning_;
};

}  // namespace lapwing::proofs
