#include "proofs/obligations.hpp"

#include <map>

namespace lapwing::proofs {
namespace {

// `T` is a number whose lowest bit is named, `H` one whose highest bit is named, `A` and `B` two of which the
// exclusive or is named, `F` and `G` two of which the common bits are; `D` and `E` may be powers of two.
constexpr const char* texts[] = {
    "T < 1 || 1 <= lowest(T) && lowest(T) <= T && power(lowest(T))",
    "T < 1 || T - lowest(T) < 1 || lowest(T) < lowest(T - lowest(T))",
    "!power(D) || lowest(D) == D",
    "T < 1 || !power(D) || D >= lowest(T) || lowest(T + D) == D && 2 * D <= lowest(T)",
    "!power(D) || D == 1 || power(half(D)) && 2 * half(D) == D",
    "!power(D) || power(2 * D)",
    "!power(D) || !power(E) || D >= E || 2 * D <= E",
    "H < 1 || power(highest(H)) && highest(H) <= H && H < 2 * highest(H)",
    "A < 0 || B < 0 || A ^ B >= 0 && (A ^ B) ^ B == A && A ^ (A ^ B) == B && (B == 0 || A ^ B != A)",
    "A < 0 || B < 0 || !power(E) || A >= E || B >= E || A ^ B < E",
    "F < 0 || G < 0 || 0 <= F & G && F & G <= F && (G != 0 || F & G == 0)",
    "H < 1 || !power(D) || H < D || 2 * D <= H || highest(H) == D",
};

// What may be put for a variable, or for two; by their text, to have each once.
using Terms = std::map<std::string, Substitution>;

struct AllTerms {
    Terms lowest;
    Terms highest;
    Terms exclusive;
    Terms common;
    Terms powers;  // for D
};

void collect(const Expression& expression, AllTerms& all) {
    for (const Expression& operand : expression->operands) collect(operand, all);
    const auto text = [](const Expression& term) { return to_smt(term, Sort::integers, 0); };
    const auto add = [&](Terms& terms, const char* name, const Expression& term) {
        terms.emplace(text(term), Substitution{{name, term}});
    };
    const auto operand = [&](std::size_t i) { return expression->operands[i]; };
    if (expression->kind == "lowest") add(all.lowest, "T", operand(0));
    if (expression->kind == "highest") {
        add(all.highest, "H", operand(0));
        add(all.powers, "D", expression);
    }
    if (expression->kind == "^")
        all.exclusive.emplace(text(expression), Substitution{{"A", operand(0)}, {"B", operand(1)}});
    if (expression->kind == "&")
        all.common.emplace(text(expression), Substitution{{"F", operand(0)}, {"G", operand(1)}});
    // d & (d - 1)
    if (expression->kind == "&" && text(operand(1)) == text(operation("-", {operand(0), number(1)})))
        add(all.powers, "D", operand(0));
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
    Terms others;  // for E
    for (const auto& [text, substitution] : found.powers) others[text] = {{"E", substitution.at("D")}};
    const std::pair<const char*, const Terms*> places[] = {{"T", &found.lowest},    {"H", &found.highest},
                                                           {"A", &found.exclusive}, {"F", &found.common},
                                                           {"D", &found.powers},    {"E", &others}};
    std::vector<Expression> all;
    for (const char* text : texts) {
        // Every combination of terms for the variables of the lemma.
        const Expression lemma = parse_expression(text);
        std::vector<Expression> partial = {lemma};
        for (const auto& [name, terms] : places) {
            if (!uses(lemma, name)) continue;
            std::vector<Expression> next;
            for (const Expression& one : partial)
                for (const auto& [term_text, substitution] : *terms)
                    next.push_back(replace(one, substitution));
            partial = std::move(next);
        }
        all.insert(all.end(), partial.begin(), partial.end());
    }
    return all;
}

}  // namespace lapwing::proofs
