#include "proofs/expression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <set>

namespace lapwing::proofs {
namespace {

bool is(const Expression& expression, std::string_view kind) {
    return expression->kind == kind;
}

bool is_truth(const Expression& expression, bool value) {
    return is(expression, value ? "true" : "false");
}

// The bits that the absolute value of a result may need.
unsigned bits_of_result(const Node& node, unsigned variable_bits) {
    const auto largest = [&](std::size_t from = 0) {
        unsigned bits = 0;
        for (std::size_t i = from; i < node.operands.size(); ++i)
            bits = std::max(bits, bits_of_result(*node.operands[i], variable_bits));
        return bits;
    };
    if (node.kind == "number")
        return static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>(std::abs(node.number))));
    if (node.kind == "variable") return variable_bits;
    if (node.kind == "+" || node.kind == "-")
        return largest() + static_cast<unsigned>(node.operands.size()) - 1;
    if (node.kind == "*")
        return bits_of_result(*node.operands[0], variable_bits) +
               bits_of_result(*node.operands[1], variable_bits);
    if (node.kind == "ite") return largest(1);
    return largest();
}

// The name of an operation in SMT-LIB.
std::string name_of(const std::string& kind, bool bits) {
    static const std::map<std::string, std::string> of_bits = {
        {"+", "bvadd"}, {"-", "bvsub"},  {"*", "bvmul"}, {"<", "bvslt"}, {"<=", "bvsle"},
        {">", "bvsgt"}, {">=", "bvsge"}, {"&", "bvand"}, {"|", "bvor"},  {"^", "bvxor"}};
    static const std::map<std::string, std::string> of_integers = {
        {"&", "bits_and"}, {"|", "bits_or"}, {"^", "bits_xor"}};
    const auto& names = bits ? of_bits : of_integers;
    const auto found = names.find(kind);
    return found == names.end() ? kind : found->second;
}

}  // namespace

Expression number(std::int64_t value) {
    return std::make_shared<Node>(Node{"number", {}, value, {}});
}
Expression truth(bool value) {
    return std::make_shared<Node>(Node{value ? "true" : "false", {}, 0, {}});
}
Expression variable(std::string name) {
    return std::make_shared<Node>(Node{"variable", std::move(name), 0, {}});
}
Expression call(std::string function, std::vector<Expression> arguments) {
    return std::make_shared<Node>(Node{"function", std::move(function), 0, std::move(arguments)});
}
Expression operation(std::string kind, std::vector<Expression> operands) {
    return std::make_shared<Node>(Node{std::move(kind), {}, 0, std::move(operands)});
}

Expression all_of(std::vector<Expression> conditions) {
    std::erase_if(conditions, [](const Expression& condition) { return is_truth(condition, true); });
    if (std::any_of(conditions.begin(), conditions.end(),
                    [](const Expression& condition) { return is_truth(condition, false); }))
        return truth(false);
    if (conditions.empty()) return truth(true);
    return conditions.size() == 1 ? conditions.front() : operation("and", std::move(conditions));
}
Expression any_of(std::vector<Expression> conditions) {
    for (Expression& condition : conditions) condition = negation(condition);
    return negation(all_of(std::move(conditions)));
}
Expression negation(Expression condition) {
    if (is(condition, "true") || is(condition, "false")) return truth(is(condition, "false"));
    return is(condition, "not") ? condition->operands[0] : operation("not", {std::move(condition)});
}
Expression equal(Expression a, Expression b) {
    return operation("=", {std::move(a), std::move(b)});
}
Expression implies(Expression a, Expression b) {
    return any_of({negation(std::move(a)), std::move(b)});
}

Expression replace(const Expression& expression, const Substitution& substitution) {
    if (is(expression, "variable")) {
        const auto found = substitution.find(expression->name);
        return found == substitution.end() ? expression : found->second;
    }
    if (expression->operands.empty()) return expression;
    Node node = *expression;
    for (Expression& operand : node.operands) operand = replace(operand, substitution);
    return std::make_shared<Node>(std::move(node));
}

Expression solve(const Expression& expression, const std::string& unknown, const Expression& value) {
    if (is(expression, "variable") && expression->name == unknown) return value;
    if (expression->operands.size() != 2) return nullptr;
    const Expression& a = expression->operands[0];
    const Expression& b = expression->operands[1];
    if (is(expression, "+") && !uses(b, unknown)) return solve(a, unknown, operation("-", {value, b}));
    if (is(expression, "+") && !uses(a, unknown)) return solve(b, unknown, operation("-", {value, a}));
    if (is(expression, "-") && !uses(b, unknown)) return solve(a, unknown, operation("+", {value, b}));
    if (is(expression, "-") && !uses(a, unknown)) return solve(b, unknown, operation("-", {a, value}));
    return nullptr;
}

bool uses(const Expression& expression, const std::string& variable) {
    if (is(expression, "variable")) return expression->name == variable;
    return std::any_of(expression->operands.begin(), expression->operands.end(),
                       [&](const Expression& operand) { return uses(operand, variable); });
}

bool uses_bits(const Expression& expression) {
    static const std::set<std::string> on_bits = {"&", "|", "^", "lowest", "highest"};
    if (on_bits.contains(expression->kind)) return true;
    return std::any_of(expression->operands.begin(), expression->operands.end(), uses_bits);
}

Program compile(const Expression& expression, const Slots& slots) {
    using Number = std::int64_t;
    const auto constant = [](Number value) -> Program { return [value](const Values&) { return value; }; };
    if (expression == nullptr) return constant(0);
    if (is(expression, "number")) return constant(expression->number);
    if (is_truth(expression, true) || is_truth(expression, false))
        return constant(is_truth(expression, true) ? 1 : 0);
    if (is(expression, "variable")) {
        return [slot = static_cast<std::size_t>(slots.of(expression->name))](const Values& values) {
            return values.slots[slot];
        };
    }
    std::vector<Program> of;
    for (const Expression& operand : expression->operands) of.push_back(compile(operand, slots));
    if (is(expression, "ite"))
        return [of](const Values& values) { return of[0](values) != 0 ? of[1](values) : of[2](values); };
    if (is(expression, "and")) {
        return [of](const Values& values) -> Number {
            return std::all_of(of.begin(), of.end(), [&](const Program& one) { return one(values) != 0; });
        };
    }
    if (is(expression, "function")) {
        return [of](const Values& values) -> Number {
            return values.some(of[0](values), of.size() == 1 ? -1 : of[1](values));
        };
    }
    if (of.size() == 1) {
        static const std::map<std::string, Number (*)(Number)> unary = {
            {"not", [](Number a) { return Number{a == 0}; }},
            {"half", [](Number a) { return a >> 1; }},
            {"lowest", [](Number a) { return a & -a; }},
            {"highest", [](Number a) {
                 return a < 1 ? 0 : static_cast<Number>(std::bit_floor(static_cast<std::uint64_t>(a)));
             }}};
        return [a = of[0], function = unary.at(expression->kind)](const Values& values) {
            return function(a(values));
        };
    }
    static const std::map<std::string, Number (*)(Number, Number)> binary = {
        {"+", [](Number a, Number b) { return a + b; }},
        {"-", [](Number a, Number b) { return a - b; }},
        {"*", [](Number a, Number b) { return a * b; }},
        {"<", [](Number a, Number b) { return Number{a < b}; }},
        {"<=", [](Number a, Number b) { return Number{a <= b}; }},
        {">", [](Number a, Number b) { return Number{a > b}; }},
        {">=", [](Number a, Number b) { return Number{a >= b}; }},
        {"=", [](Number a, Number b) { return Number{a == b}; }},
        {"&", [](Number a, Number b) { return a & b; }},
        {"|", [](Number a, Number b) { return a | b; }},
        {"^", [](Number a, Number b) { return a ^ b; }}};
    return [a = of[0], b = of[1], function = binary.at(expression->kind)](const Values& values) {
        return function(a(values), b(values));
    };
}

unsigned bits_of(const Expression& expression, unsigned variable_bits) {
    unsigned bits = bits_of_result(*expression, variable_bits);
    for (const Expression& operand : expression->operands)
        bits = std::max(bits, bits_of(operand, variable_bits));
    return bits;
}

std::string to_smt(const Expression& expression, Sort sort, unsigned width) {
    const bool bits = sort == Sort::bits;
    if (is(expression, "number")) {
        if (bits) {
            const auto pattern =
                static_cast<std::uint64_t>(expression->number) & ((std::uint64_t{1} << width) - 1);
            return fmt::format("(_ bv{} {})", pattern, width);
        }
        return expression->number < 0 ? fmt::format("(- {})", -expression->number)
                                      : std::to_string(expression->number);
    }
    if (is(expression, "variable")) return expression->name;
    if (expression->operands.empty()) return expression->kind;
    if (is(expression, "lowest")) {
        const std::string operand = to_smt(expression->operands[0], sort, width);
        return bits ? fmt::format("(bvand {0} (bvneg {0}))", operand) : fmt::format("(lowest {})", operand);
    }
    if (is(expression, "highest") && bits) {
        // Sets all bits below the highest.
        std::string text = to_smt(expression->operands[0], sort, width);
        for (int shift = 1; shift < 64; shift *= 2) {
            text =
                fmt::format("(let ((s{0} {1})) (bvor s{0} (bvlshr s{0} (_ bv{0} {2}))))", shift, text, width);
        }
        return fmt::format("(let ((s {})) (bvsub s (bvlshr s (_ bv1 {}))))", text, width);
    }
    if (is(expression, "half")) {
        const std::string operand = to_smt(expression->operands[0], sort, width);
        return bits ? fmt::format("(bvashr {} (_ bv1 {}))", operand, width)
                    : fmt::format("(div {} 2)", operand);
    }
    std::string text = is(expression, "function") ? expression->name : name_of(expression->kind, bits);
    for (const Expression& operand : expression->operands) text += " " + to_smt(operand, sort, width);
    return "(" + text + ")";
}

void for_each_name(const Expression& expression, const std::function<void(const std::string&, int)>& visit) {
    if (is(expression, "variable")) visit(expression->name, -1);
    if (is(expression, "function")) visit(expression->name, static_cast<int>(expression->operands.size()));
    for (const Expression& operand : expression->operands) for_each_name(operand, visit);
}

}  // namespace lapwing::proofs
