#include "proofs/lemmas.hpp"

#include <map>

namespace lapwing::proofs {
namespace {

// `t` is any number whose lowest bit is named, `d` and `e` those that may be powers of two.
constexpr const char* texts[] = {
    "t < 1 || 1 <= lowest(t) && lowest(t) <= t && power(lowest(t))",
    "t < 1 || t - lowest(t) < 1 || lowest(t) < lowest(t - lowest(t))",
    "!power(d) || lowest(d) == d",
    "t < 1 || !power(d) || d >= lowest(t) || lowest(t + d) == d",
    "!power(d) || d == 1 || power(half(d)) && 2 * half(d) == d",
    "!power(d) || power(2 * d)",
    "!power(d) || !power(e) || d >= e || 2 * d <= e",
};

// By their text, to have each once.
using Terms = std::map<std::string, Expression>;

void collect(const Expression& expression, Terms& numbers, Terms& powers) {
    for (const Expression& operand : expression->operands) collect(operand, numbers, powers);
    const auto add = [](Terms& terms, const Expression& term) {
        terms.emplace(to_smt(term, Sort::integers, 0), term);
    };
    if (expression->kind == "lowest") add(numbers, expression->operands[0]);
    if (expression->kind != "&") return;
    // d & (d - 1)
    const Expression& d = expression->operands[0];
    const std::string less = to_smt(operation("-", {d, number(1)}), Sort::integers, 0);
    if (to_smt(expression->operands[1], Sort::integers, 0) == less) add(powers, d);
}

}  // namespace

std::vector<Obligation> lemmas() {
    std::vector<Obligation> all;
    for (const char* text : texts) all.push_back({"lemma", text, truth(true), parse_expression(text)});
    return all;
}

std::vector<Expression> lemmas_for(const std::vector<Expression>& formulas) {
    Terms numbers;
    Terms powers;
    for (const Expression& formula : formulas) collect(formula, numbers, powers);
    const Terms nothing = {{"", nullptr}};
    std::vector<Expression> all;
    for (const char* text : texts) {
        const Expression lemma = parse_expression(text);
        const auto terms = [&](const char* name, const Terms& of) {
            return uses(lemma, name) ? of : nothing;
        };
        for (const auto& [t_text, t] : terms("t", numbers)) {
            for (const auto& [d_text, d] : terms("d", powers)) {
                for (const auto& [e_text, e] : terms("e", powers)) {
                    Substitution substitution;
                    if (t != nullptr) substitution["t"] = t;
                    if (d != nullptr) substitution["d"] = d;
                    if (e != nullptr) substitution["e"] = e;
                    all.push_back(replace(lemma, substitution));
                }
            }
        }
    }
    return all;
}

}  // namespace lapwing::proofs
