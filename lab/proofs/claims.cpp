#include "proofs/claims.hpp"

#include <fmt/format.h>

#include "base/error.hpp"

namespace lapwing::proofs {

void Claims::refuse(const std::string& why) {
    throw Error(ErrorCode::invalid_argument, why);
}

bool Claims::writes(const Step& step) {
    return step.kind == TaskKind::recv || step.kind == TaskKind::copy || step.kind == TaskKind::reduce ||
           step.kind == TaskKind::join;
}

std::string Claims::storage(const std::string& name) const {
    const Array* array = certificate_.array(name);
    return array == nullptr || array->base.empty() ? name : storage(array->base);
}

bool Claims::is_family(const std::string& name) const {
    const Array* array = certificate_.array(name);
    return array != nullptr && !array->index.empty();
}

Expression Claims::size_of(const Blocks& blocks, const Expression& rank) const {
    const std::string name = storage(blocks.array);
    if (name == "in") return replace(meaning_.in_size, {{"r", rank}, {"parts", certificate_.parts}});
    if (name == "out") return replace(meaning_.out_size, {{"r", rank}, {"parts", certificate_.parts}});
    const Array& array = *certificate_.array(name);
    return replace(array.size, {{"r", rank}, {array.index, index_of(blocks)}});
}

Claims::Content Claims::content(const std::string& name, const Expression& index, const Expression& block,
                                const Expression& rank) const {
    if (name == "in") return {equal(variable("x"), rank), block};
    const Array& array = *certificate_.array(name);
    const Substitution substitution{{"r", rank}, {array.index, index}, {array.block, block}};
    return {replace(array.holds, substitution), replace(array.origin, substitution)};
}

Claims::Content Claims::content(const Blocks& span, const Expression& rank) const {
    return content(span.array, index_of(span), plus(span.block, offset()), rank);
}

std::vector<Claims::Chosen> Claims::writers(const std::string& name, const Expression& index,
                                            const Expression& block, const Expression& rank) const {
    const Array& array = *certificate_.array(name);
    const Substitution substitution{{"r", rank}, {array.index, index}, {array.block, block}};
    std::vector<Chosen> chosen;
    std::vector<Expression> earlier;
    for (const Writer& writer : array.writers) {
        const Expression condition = replace(writer.condition, substitution);
        std::vector<Expression> all = earlier;
        all.push_back(condition);
        const Expression value = writer.value == nullptr ? nullptr : replace(writer.value, substitution);
        chosen.push_back({all_of(all), {certificate_.step(writer.label), value, rank}});
        earlier.push_back(negation(condition));
    }
    return chosen;
}

Instance Claims::any(const Step& step, const std::string& mark, Expression rank) {
    return {&step, step.variable.empty() ? nullptr : variable(step.variable + mark), std::move(rank)};
}

std::vector<Instance> Claims::matching(TaskKind kind, const Expression& rank, const Expression& tag) const {
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

Expression Claims::meets(const Instance& task, const Expression& tag) {
    return all_of(
        {task.exists(), equal(task.in(task.step->peer), here), equal(task.in(task.step->tag), tag)});
}

Expression Claims::count_of(const Instance& task) const {
    const Step& step = *task.step;
    return task.in(step.kind == TaskKind::send ? step.source.count : step.target.count);
}

std::vector<Instance> Claims::waits_for(const Step& receive, const Expression& value,
                                        const Expression& rank) const {
    std::vector<Instance> found;
    for (const Step& step : certificate_.steps) {
        if (step.kind != TaskKind::wait || step.receives != receive.label) continue;
        Instance task{&step, nullptr, rank};
        if (!step.variable.empty()) {
            task.value = solve(replace(step.receive, {{"r", rank}}), step.variable, value);
            if (task.value == nullptr) refuse(fmt::format("the receive of {} cannot be solved", step.label));
        }
        found.push_back(task);
    }
    return found;
}

Expression Claims::completes(const Instance& wait, const Expression& value) {
    if (value == nullptr) return wait.exists();
    return all_of({wait.exists(), equal(wait.in(wait.step->receive), value)});
}

Instance Claims::received(const Instance& wait) const {
    return {certificate_.step(wait.step->receives),
            wait.step->receive == nullptr ? nullptr : wait.in(wait.step->receive), wait.rank};
}

Expression Claims::written(const Instance& writer, const Expression& index, const Expression& block,
                           const Instance* reader) const {
    std::vector<Expression> all = {writer.exists(), covers(writer.in(writer.step->target), index, block)};
    if (writer.step->kind != TaskKind::recv) {
        if (reader != nullptr) all.push_back(before(writer, *reader));
        return all_of(all);
    }
    std::vector<Expression> cases;
    for (const Instance& wait : waits_for(*writer.step, writer.value, writer.rank)) {
        cases.push_back(
            all_of({completes(wait, writer.value), reader == nullptr ? truth(true) : before(wait, *reader)}));
    }
    all.push_back(any_of(cases));
    return all_of(all);
}

}  // namespace lapwing::proofs
