// Obligations in SMT-LIB.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "proofs/obligations.hpp"

namespace lapwing::proofs {
namespace {

Expression at_most(Expression a, Expression b) {
    return operation("<=", {std::move(a), std::move(b)});
}

// What is true of the variables of every certificate.
Expression fact_of(const std::string& name) {
    static const std::map<std::string, std::string> facts = {
        {"P", "1 <= P"},
        {"r", "0 <= r && r < P"},
        {"root", "0 <= root && root < P"},
        {"core", "power(core) && core <= P && P < 2 * core"},
        {"cover", "power(cover) && P <= cover && cover < 2 * P"},
        {"filled", "1 <= filled"},
        {"window", "1 <= window"},
    };
    const auto found = facts.find(name);
    if (found == facts.end()) return at_most(number(0), variable(name));
    return parse_expression(found->second);
}

}  // namespace

bool has_bits(const Obligation& obligation) {
    if (uses_bits(obligation.given) || uses_bits(obligation.claim)) return true;
    bool powers = false;  // the facts about these two are about bits
    for (const Expression& expression : {obligation.given, obligation.claim}) {
        for_each_name(expression,
                      [&](const std::string& name, int) { powers |= name == "core" || name == "cover"; });
    }
    return powers;
}

std::string to_smt(const Obligation& obligation, Sort sort, unsigned max_bits,
                   std::vector<std::string>* asked) {
    const Expression negated = all_of({obligation.given, negation(obligation.claim)});
    std::set<std::string> numbers = {"P"};
    std::set<std::string> truths;
    std::map<std::string, int> functions;
    for_each_name(negated, [&](const std::string& name, int arguments) {
        if (arguments >= 0)
            functions[name] = arguments;
        else if (name == "in_place" || name == "ordered")
            truths.insert(name);
        else
            numbers.insert(name);
    });
    const bool bits = sort == Sort::bits;
    std::vector<Expression> all = {negated};
    for (const std::string& name : numbers) {
        all.push_back(fact_of(name));
        if (bits) all.push_back(at_most(variable(name), number(std::int64_t{1} << max_bits)));
    }
    unsigned width = 0;  // with a bit for the sign
    for (const Expression& expression : all) width = std::max(width, bits_of(expression, max_bits + 1) + 1);
    const std::string type = bits ? fmt::format("(_ BitVec {})", width) : "Int";
    const auto function = [&](const std::string& name, int arguments, const std::string& result) {
        std::string types;
        for (int i = 0; i < arguments; ++i) types += (i > 0 ? " " : "") + type;
        return fmt::format("(declare-fun {} ({}) {})\n", name, types, result);
    };
    std::string text = fmt::format("(set-logic {})\n", !bits               ? "QF_UFLIA"
                                                       : functions.empty() ? "QF_BV"
                                                                           : "QF_UFBV");
    for (const std::string& name : numbers) text += function(name, 0, type);
    for (const std::string& name : truths) text += function(name, 0, "Bool");
    for (const auto& [name, arguments] : functions) text += function(name, arguments, "Bool");
    if (!bits && has_bits(obligation)) {
        for (const char* name : {"bits_and", "bits_or", "bits_xor"}) text += function(name, 2, type);
        for (const char* name : {"lowest", "highest"}) text += function(name, 1, type);
        for (Expression& lemma : lemmas_for(all)) all.push_back(std::move(lemma));
    }
    for (const Expression& expression : all)
        text += fmt::format("(assert {})\n", to_smt(expression, sort, width));
    if (asked != nullptr) asked->assign(numbers.begin(), numbers.end());
    return text + "(check-sat)\n";
}

}  // namespace lapwing::proofs
