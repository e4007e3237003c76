#include "proofs/obligations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "proofs/claims.hpp"

namespace lapwing::proofs {
namespace {

class Generator : Claims {
  public:
    explicit Generator(const Certificate& certificate) : Claims(certificate) {}

    std::vector<Obligation> run() {
        check_structure();
        for (const Step& step : certificate_.steps) check_form(step);
        check_matching();
        check_deadlock();
        for (const Step& step : certificate_.steps) {
            if (writes(step)) check_writes(step);
            if (!step.source.array.empty()) check_read(step, step.source);
            if (!step.old.array.empty()) check_read(step, step.old);
            if (step.kind == TaskKind::reduce) check_consumption(step);
            if (certificate_.in_place && writes(step) && storage(step.target.array) == "out")
                check_in_place(step);
            if (!writes(step)) continue;
            check_contents(step);
            check_layout(step);
        }
        check_result();
        check_loops();
        return std::move(obligations_);
    }

  private:
    void check_structure() const {
        int last_receive = -1;
        int first_other = 1 << 30;
        for (const Step& step : certificate_.steps) {
            if (step.kind == TaskKind::recv) last_receive = std::max(last_receive, step.section);
            if (step.kind == TaskKind::send || step.kind == TaskKind::wait)
                first_other = std::min(first_other, step.section);
            if (step.kind == TaskKind::wait) {
                const Step* receive = certificate_.step(step.receives);
                if (receive == nullptr || receive->kind != TaskKind::recv ||
                    receive->variable.empty() != (step.receive == nullptr))
                    refuse(fmt::format("{} waits for no receive", step.label));
            }
            if (step.kind == TaskKind::allocate) continue;
            for (const Blocks* blocks : {&step.target, &step.old, &step.source}) {
                if (blocks->array.empty()) continue;
                if (blocks->array == "in" && blocks != &step.source) refuse("in is only read");
                const Array* array = certificate_.array(blocks->array);
                if (blocks->array != "in" && (array == nullptr || array->holds == nullptr))
                    refuse(fmt::format("what {} holds is not said", blocks->array));
            }
            if (!writes(step)) continue;
            const Array& target = *certificate_.array(step.target.array);
            if ((step.kind == TaskKind::reduce) != !target.base.empty())
                refuse(fmt::format("{}: a reduction makes a version of an array, and nothing else does",
                                   step.label));
            if (step.kind == TaskKind::reduce && storage(target.name) != storage(step.old.array))
                refuse(fmt::format("{} is not where {} is", target.name, step.old.array));
            if (step.kind == TaskKind::join && !target.ghost) refuse("only what ranks know is joined");
        }
        if (certificate_.in_place && meaning_.in_place == nullptr)
            refuse("no problem of this collective is in place");
        if (last_receive >= first_other) refuse("a receive is below the top of the list");
        const std::string& collective = certificate_.algorithms.back().first;
        const bool lengths_differ = certificate_.parts->kind != "number" ||
                                    collective.starts_with("reduce_scatter") || collective.ends_with("v");
        std::set<std::string> names;
        for (const Array& array : certificate_.arrays) {
            if (!names.insert(array.name).second || array.name == "in")
                refuse(fmt::format("there are two arrays {}", array.name));
            const bool scratch = !array.ghost && array.base.empty() && array.name != "out";
            if (scratch && lengths_differ && array.layout == nullptr)
                refuse(fmt::format("of which blocks is {}?", array.name));
            if (array.ghost != (collective == "barrier"))
                refuse(fmt::format("{}: only in a barrier do ranks learn instead of receiving bytes",
                                   array.name));
            for (const Writer& writer : array.writers) {
                const Step* step = certificate_.step(writer.label);
                if (step == nullptr || !writes(*step) || step->target.array != array.name ||
                    step->variable.empty() != (writer.value == nullptr))
                    refuse(fmt::format("{} does not write {}", writer.label, array.name));
            }
        }
    }

    void require(const std::string& rule, const std::string& what, std::vector<Expression> given,
                 Expression claim) {
        given.push_back(certificate_.applies);
        if (!certificate_.in_place) given.push_back(negation(variable("in_place")));
        if (!certificate_.ordered) given.push_back(negation(variable("ordered")));
        obligations_.push_back({rule, what, concrete(all_of(std::move(given))), concrete(claim)});
    }

    // A vector that is cut into blocks has bytes in the first `filled` of them.
    Expression concrete(const Expression& expression) const {
        const std::string& collective = certificate_.algorithms.front().first;
        const bool vector = collective == "broadcast" || collective == "reduce" || collective == "allreduce";
        const bool has_parts = collective.starts_with("reduce_scatter") ||
                               collective.find("gather") != collective.npos ||
                               collective.starts_with("alltoall") || collective.starts_with("scatter");
        if (has_parts || !vector) return expression;
        return with_filled(expression);
    }
    static Expression with_filled(const Expression& expression) {
        if (expression->kind == "function" && expression->name == "some1")
            return less(expression->operands[0], variable("filled"));
        if (expression->operands.empty()) return expression;
        Node node = *expression;
        for (Expression& operand : node.operands) operand = with_filled(operand);
        return std::make_shared<Node>(std::move(node));
    }

    // Formulas over bits assume that a loop's variable is at most the largest P.
    void check_loops() {
        const bool bits = std::any_of(obligations_.begin(), obligations_.end(), has_bits);
        const Expression limit = bits ? ranks : plus(plus(ranks, ranks), number(6));
        for (const Step& step : certificate_.steps) {
            if (step.variable.empty() || step.position != 0) continue;
            require("form", fmt::format("the numbers of the loop of {} have a limit", step.label), {},
                    all_of({at_most(number(0), step.first), at_most(step.last, limit)}));
        }
    }

    void check_form(const Step& step) {
        const Instance task = any(step);
        const Expression exists = task.exists();
        if (step.kind == TaskKind::allocate) return;
        if (step.peer != nullptr) {
            const Expression peer = task.in(step.peer);
            require("form", fmt::format("the peer of {} is another rank", step.label), {exists},
                    all_of({at_most(number(0), peer), less(peer, ranks), negation(equal(peer, here))}));
        }
        if (step.time != nullptr)
            require("deadlock", fmt::format("the time of {} is not negative", step.label), {exists},
                    at_most(number(0), task.in(step.time)));
        for (const Blocks* blocks : {&step.target, &step.old, &step.source}) {
            if (blocks->array.empty()) continue;
            const Blocks span = task.in(*blocks);
            const std::string name = storage(blocks->array);
            const bool ghost = name != "in" && certificate_.array(name)->ghost;
            if (ghost) continue;
            require("form", fmt::format("{} of {} is inside", blocks->array, step.label), {exists},
                    all_of({at_most(number(0), span.block), at_most(number(1), span.count),
                            at_most(plus(span.block, span.count), size_of(span))}));
            if (name == "in" || name == "out") continue;
            const Step& allocation = *certificate_.step(name);
            const Instance memory{&allocation, allocation.variable.empty() ? nullptr : span.index, here};
            require("form", fmt::format("{} is allocated before {}", name, step.label), {exists},
                    all_of({memory.exists(), before(memory, task)}));
        }
        if (writes(step) && step.kind != TaskKind::recv) {
            const Expression count = task.in(step.target.count);
            require("form", fmt::format("target and source of {} have one length", step.label), {exists},
                    equal(count, task.in(step.source.count)));
        }
        if (step.kind == TaskKind::reduce) {
            const Blocks target = task.in(step.target);
            const Blocks old = task.in(step.old);
            const bool family = is_family(storage(step.target.array));
            require("form", fmt::format("{} replaces what it reads", step.label), {exists},
                    all_of({equal(target.block, old.block), equal(target.count, old.count),
                            family ? equal(target.index, old.index) : truth(true)}));
        }
    }

    void check_matching() {
        for (const Step& step : certificate_.steps) {
            const Instance task = any(step);
            if (step.kind == TaskKind::send || step.kind == TaskKind::recv) {
                const bool send = step.kind == TaskKind::send;
                std::vector<Expression> cases;
                const Expression tag = task.in(step.tag);
                for (const Instance& other :
                     matching(send ? TaskKind::recv : TaskKind::send, task.in(step.peer), tag))
                    cases.push_back(all_of({meets(other, tag), equal(count_of(other), count_of(task))}));
                require("matching",
                        fmt::format("the peer of {} has a {} with its tag and length", step.label,
                                    send ? "receive" : "send"),
                        {task.exists()}, any_of(cases));
            }
            if (step.kind == TaskKind::recv) {
                std::vector<Expression> cases;
                for (const Instance& wait : waits_for(step, task.value))
                    cases.push_back(all_of({completes(wait, task.value), before(task, wait)}));
                require("matching", fmt::format("a wait completes {}", step.label), {task.exists()},
                        any_of(cases));
            }
            if (step.kind == TaskKind::wait) {
                const Instance receive = received(task);
                require("matching", fmt::format("{} has a receive", step.label), {task.exists()},
                        receive.exists());
            }
        }
        // Between two ranks, tags ascend in the order of sends, of receives and of waits.
        for (const TaskKind kind : {TaskKind::send, TaskKind::recv, TaskKind::wait}) {
            for (const Step& one : certificate_.steps) {
                for (const Step& two : certificate_.steps) {
                    if (one.kind != kind || two.kind != kind) continue;
                    const Instance first = any(one);
                    const Instance second = any(two, "_2");
                    if (before(first, second)->kind == "false") continue;
                    const Instance a = kind == TaskKind::wait ? received(first) : first;
                    const Instance b = kind == TaskKind::wait ? received(second) : second;
                    require("matching",
                            fmt::format("{} and {} are in the order of their tags", one.label, two.label),
                            {first.exists(), second.exists(), before(first, second),
                             equal(a.in(a.step->peer), b.in(b.step->peer))},
                            less(a.in(a.step->tag), b.in(b.step->tag)));
                }
            }
        }
    }

    void check_deadlock() {
        for (const Step& one : certificate_.steps) {
            if (one.time == nullptr) continue;
            const Instance first = any(one);
            for (const Step& two : certificate_.steps) {
                if (two.time == nullptr) continue;
                const Instance second = any(two, "_2");
                if (before(first, second)->kind == "false") continue;
                require("deadlock", fmt::format("time does not go back from {} to {}", one.label, two.label),
                        {first.exists(), second.exists(), before(first, second)},
                        at_most(first.in(one.time), second.in(two.time)));
            }
            if (one.kind != TaskKind::wait) continue;
            const Instance receive = received(first);
            const Expression peer = receive.in(receive.step->peer);
            const Expression tag = receive.in(receive.step->tag);
            for (const Instance& send : matching(TaskKind::send, peer, tag)) {
                require("deadlock",
                        fmt::format("{} is later than {} that it waits for", one.label, send.step->label),
                        {first.exists(), meets(send, tag)},
                        less(send.in(send.step->time), first.in(one.time)));
            }
        }
    }

    void check_writes(const Step& step) {
        const Instance task = any(step);
        const Blocks span = task.in(step.target);
        std::vector<Expression> cases;
        for (const Chosen& chosen : writers(span.array, span.index, plus(span.block, offset()))) {
            if (chosen.writer.step != &step) continue;
            cases.push_back(
                all_of({chosen.condition,
                        task.value == nullptr ? truth(true) : equal(chosen.writer.value, task.value)}));
        }
        require("hazard", fmt::format("nothing but {} writes its part of {}", step.label, step.target.array),
                {task.exists(), within(span)}, any_of(cases));
    }

    void check_read(const Step& step, const Blocks& source) {
        if (source.array == "in") return;
        const Instance task = any(step);
        const Blocks span = task.in(source);
        const Expression block = plus(span.block, offset());
        std::vector<Expression> cases;
        for (const Chosen& chosen : writers(span.array, span.index, block))
            cases.push_back(all_of({chosen.condition, written(chosen.writer, span.index, block, &task)}));
        require("hazard", fmt::format("{} is complete when {} reads it", source.array, step.label),
                {task.exists(), within(span)}, any_of(cases));
    }

    // No other reduction overwrites the same, it was not sent, and other tasks read it before.
    void check_consumption(const Step& step) {
        const Instance task = any(step);
        const Blocks span = task.in(step.old);
        for (const Step& reader : certificate_.steps) {
            const Instance other = any(reader, "_2");
            for (const Blocks* read : {&reader.source, &reader.old}) {
                if (read->array != step.old.array) continue;
                const bool same = &reader == &step && read == &reader.old;
                if (same && task.value == nullptr) continue;
                const bool synchronous = read == &reader.source && reader.kind != TaskKind::send;
                const Expression earlier = synchronous ? before(other, task) : truth(false);
                require("hazard",
                        fmt::format("{} overwrites nothing that {} reads", step.label, reader.label),
                        {task.exists(), other.exists(), overlap(span, other.in(*read))},
                        same ? equal(task.value, other.value) : earlier);
            }
        }
    }

    // In place, a block of the input is overwritten only after its last use, and not if it was sent.
    void check_in_place(const Step& step) {
        const Instance task = any(step);
        const Blocks span = task.in(step.target);
        for (const Step& reader : certificate_.steps) {
            if (reader.source.array != "in") continue;
            const Instance other = any(reader, "_2");
            const Blocks read = other.in(reader.source);
            const Expression block = plus(read.block, variable("i"));
            const Expression lies = replace(meaning_.in_place, {{"block", block}});
            // A copy of a block to itself writes nothing.
            const bool from_in = step.source.array == "in" && step.kind == TaskKind::copy;
            const Expression moves =
                from_in ? negation(equal(replace(meaning_.in_place, {{"block", task.in(step.source).block}}),
                                         span.block))
                        : truth(true);
            const Expression later = reader.kind == TaskKind::send ? truth(false) : before(other, task);
            require("in_place", fmt::format("{} keeps the input that {} reads", step.label, reader.label),
                    {task.exists(), other.exists(), variable("in_place"), moves,
                     at_most(number(0), variable("i")), less(variable("i"), read.count),
                     at_most(span.block, lies), less(lies, plus(span.block, span.count))},
                    later);
        }
    }

    void require_contents(const std::string& what, std::vector<Expression> given, const Content& is,
                          const Content& should) {
        given.push_back(at_most(number(0), variable("x")));
        given.push_back(less(variable("x"), ranks));
        require("provenance", what, std::move(given),
                all_of({equal(is.holds, should.holds), equal(is.origin, should.origin)}));
    }

    void check_contents(const Step& step) {
        const Instance task = any(step);
        const Blocks span = task.in(step.target);
        const std::vector<Expression> given = {task.exists(), within(span)};
        if (step.kind == TaskKind::copy) {
            require_contents(fmt::format("{} copies what {} holds", step.label, step.target.array), given,
                             content(task.in(step.source), here), content(span, here));
        } else if (step.kind == TaskKind::recv) {
            const Expression peer = task.in(step.peer);
            const Expression tag = task.in(step.tag);
            for (const Instance& send : matching(TaskKind::send, peer, tag)) {
                std::vector<Expression> all = given;
                all.push_back(meets(send, tag));
                require_contents(fmt::format("{} sends what {} expects", send.step->label, step.label), all,
                                 content(send.in(send.step->source), peer), content(span, here));
            }
        } else if (step.kind == TaskKind::reduce || step.kind == TaskKind::join) {
            check_union(step, task, given);
        }
    }

    void check_union(const Step& step, const Instance& task, const std::vector<Expression>& given) {
        const Content result = content(task.in(step.target), here);
        const Content old = content(task.in(step.old), here);
        const Content added = content(task.in(step.source), here);
        require_contents(fmt::format("{} combines to what {} holds", step.label, step.target.array), given,
                         {any_of({old.holds, added.holds}), old.origin}, result);
        if (step.kind == TaskKind::join) return;
        require_contents(fmt::format("{} combines the same bytes", step.label), given, added,
                         {added.holds, result.origin});
        std::vector<Expression> one = given;
        const Expression x = variable("x");
        const Expression y = variable("y");
        one.insert(one.end(), {at_most(number(0), x), less(x, ranks), old.holds, added.holds});
        require("provenance", fmt::format("{} counts no contribution twice", step.label), one, truth(false));
        if (!certificate_.ordered) return;
        std::vector<Expression> two = given;
        two.insert(two.end(),
                   {variable("ordered"), at_most(number(0), x), less(x, ranks), at_most(number(0), y),
                    less(y, ranks), added.holds, replace(old.holds, {{"x", y}})});
        require("provenance", fmt::format("{} combines in rank order", step.label), two, less(x, y));
    }

    // Blocks may differ in length: one may hold only contributions of its own length.
    void check_layout(const Step& step) {
        const Instance task = any(step);
        const Blocks span = task.in(step.target);
        const std::string name = storage(span.array);
        const Expression block = plus(span.block, offset());
        const Content is = content(span, here);
        if (name != "out") {
            const Array& array = *certificate_.array(name);
            if (array.layout == nullptr) return;
            const Expression first = replace(array.layout, {{"r", here}, {array.index, span.index}});
            require("provenance", fmt::format("{} holds blocks of its length", span.array),
                    {task.exists(), within(span)}, equal(is.origin, plus(first, block)));
            return;
        }
        const Substitution substitution{{"block", block}};
        const Content should{replace(meaning_.holds, substitution), replace(meaning_.origin, substitution)};
        const bool moved = certificate_.array(span.array)->base.empty() && !reduces();
        require_contents(fmt::format("{} holds blocks of its length", span.array),
                         {task.exists(), within(span)}, {moved ? is.holds : should.holds, is.origin}, should);
    }
    bool reduces() const {
        return std::any_of(certificate_.steps.begin(), certificate_.steps.end(),
                           [](const Step& step) { return step.kind == TaskKind::reduce; });
    }

    void check_result() {
        const Expression block = variable("block");
        const bool barrier = certificate_.algorithms.front().first == "barrier";
        const Expression size =
            barrier ? number(1) : replace(meaning_.out_size, {{"parts", certificate_.parts}});
        std::vector<Expression> given = {at_most(number(0), block), less(block, size)};
        given.push_back(meaning_.exists);
        std::vector<Expression> earlier;
        std::vector<Expression> any_case;
        for (const Final& candidate : certificate_.final) {
            const Substitution substitution{{certificate_.block, block}};
            const Blocks from{candidate.from.array, replace(index_of(candidate.from), substitution),
                              replace(candidate.from.block, substitution), number(1)};
            const Expression condition = replace(candidate.condition, substitution);
            std::vector<Expression> all = given;
            all.insert(all.end(), earlier.begin(), earlier.end());
            all.push_back(condition);
            earlier.push_back(negation(condition));
            any_case.push_back(condition);
            if (!barrier && storage(from.array) != "out") refuse(fmt::format("{} is not in out", from.array));
            if (!barrier) require("provenance", "the result is at its place", all, equal(from.block, block));
            std::vector<Expression> cases;
            for (const Chosen& chosen : writers(from.array, from.index, from.block)) {
                cases.push_back(
                    all_of({chosen.condition, written(chosen.writer, from.index, from.block, nullptr)}));
            }
            require("provenance", fmt::format("every block of the result is written, in {}", from.array), all,
                    any_of(cases));
            require_contents(fmt::format("{} has the result", from.array), all,
                             content(from.array, from.index, from.block, here),
                             {meaning_.holds, meaning_.origin});
            for (const Step& step : certificate_.steps) {
                if (step.kind != TaskKind::reduce || step.old.array != from.array) continue;
                const Instance task = any(step);
                std::vector<Expression> consumed = all;
                consumed.push_back(task.exists());
                consumed.push_back(overlap(task.in(step.old), from));
                require("provenance",
                        fmt::format("{} does not change the result in {}", step.label, from.array), consumed,
                        truth(false));
            }
        }
        require("provenance", "every block of the result is named", given, any_of(any_case));
    }

    std::vector<Obligation> obligations_;
};

}  // namespace

std::vector<Obligation> obligations_of(const Certificate& certificate) {
    return Generator(certificate).run();
}

}  // namespace lapwing::proofs
