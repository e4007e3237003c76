#include "proofs/lemmas.hpp"

#include <map>

namespace lapwing::proofs {
namespace {

// `t` is a number whose lowest bit is named, `h` one whose highest bit is named; `d` and `e` may be powers of
// two.
constexpr const char* texts[] = {
    "t < 1 || 1 <= lowest(t) && lowest(t) <= t && power(lowest(t))",
    "t < 1 || t - lowest(t) < 1 || lowest(t) < lowest(t - lowest(t))",
    "!power(d) || lowest(d) == d",
    "t < 1 || !power(d) || d >= lowest(t) || lowest(t + d) == d",
    "!power(d) || d == 1 || power(half(d)) && 2 * half(d) == d",
    "!power(d) || power(2 * d)",
    "!power(d) || !power(e) || d >= e || 2 * d <= e",
    "h < 1 || power(highest(h)) && highest(h) <= h && h < 2 * highest(h)",
    "h < 1 || !power(d) || h < d || 2 * d <= h || highest(h) == d",
};

// By their text, to have each once.
using Terms = std::map<std::string, Expression>;

struct AllTerms {
    Terms lowest;
    Terms highest;
    Terms powers;
};

void collect(const Expression& expression, AllTerms& all) {
    for (const Expression& operand : expression->operands) collect(operand, all);
    const auto add = [](Terms& terms, const Expression& term) {
        terms.emplace(to_smt(term, Sort::integers, 0), term);
    };
    if (expression->kind == "lowest") add(all.lowest, expression->operands[0]);
    if (expression->kind == "highest") {
        add(all.highest, expression->operands[0]);
        add(all.powers, expression);
    }
    if (expression->kind != "&") return;
    // d & (d - 1)
    const Expression& d = expression->operands[0];
    const std::string less = to_smt(operation("-", {d, number(1)}), Sort::integers, 0);
    if (to_smt(expression->operands[1], Sort::integers, 0) == less) add(all.powers, d);
}

}  // namespace

std::vector<Obligation> lemmas() {
    std::vector<Obligation> all;
    for (const char* text : texts) all.push_back({"lemma", text, truth(true), parse_expression(text)});
    return all;
}

std::vector<Expression> lemmas_for(const std::vector<Expression>& formulas) {
    AllTerms found;
    for (const Expression& formula : formulas) collect(formula, found);
    const std::pair<const char*, const Terms*> places[] = {
        {"t", &found.lowest}, {"h", &found.highest}, {"d", &found.powers}, {"e", &found.powers}};
    std::vector<Expression> all;
    for (const char* text : texts) {
        // Every combination of terms for the variables of the lemma.
        std::vector<Expression> partial = {parse_expression(text)};
        for (const auto& [name, terms] : places) {
            if (!uses(partial.empty() ? truth(true) : partial.front(), name)) continue;
            std::vector<Expression> next;
            for (const Expression& lemma : partial) {
                for (const auto& [term_text, term] : *terms) next.push_back(replace(lemma, {{name, term}}));
            }
            partial = std::move(next);
        }
        all.insert(all.end(), partial.begin(), partial.end());
    }
    return all;
}

}  // namespace lapwing::proofs
