#include "proofs/expression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <iterator>

#include "base/error.hpp"

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
    if (node.kind == "number") {
        unsigned bits = 0;
        for (std::int64_t left = std::abs(node.number); left > 0; left /= 2) ++bits;
        return bits;
    }
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

std::int64_t result(Program::Code code, std::int64_t a, std::int64_t b) {
    using Code = Program::Code;
    switch (code) {
        case Code::add:
            return a + b;
        case Code::subtract:
            return a - b;
        case Code::multiply:
            return a * b;
        case Code::less:
            return static_cast<std::int64_t>(a < b);
        case Code::at_most:
            return static_cast<std::int64_t>(a <= b);
        case Code::greater:
            return static_cast<std::int64_t>(a > b);
        case Code::at_least:
            return static_cast<std::int64_t>(a >= b);
        case Code::equal:
            return static_cast<std::int64_t>(a == b);
        case Code::both:
            return a & b;
        case Code::either:
            return a | b;
        default:
            return a ^ b;
    }
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
    if (is(expression, "&") || is(expression, "|") || is(expression, "^") || is(expression, "lowest") ||
        is(expression, "highest"))
        return true;
    return std::any_of(expression->operands.begin(), expression->operands.end(), uses_bits);
}

void Program::compile(const Node& node, const Slots& slots) {
    const auto add = [&](Code code, std::int64_t number = 0) { steps_.push_back({code, number}); };
    static const std::map<std::string, Code> codes = {
        {"+", Code::add},      {"-", Code::subtract}, {"*", Code::multiply},    {"<", Code::less},
        {"<=", Code::at_most}, {">", Code::greater},  {">=", Code::at_least},   {"=", Code::equal},
        {"&", Code::both},     {"|", Code::either},   {"^", Code::differ},      {"not", Code::negate},
        {"ite", Code::choose}, {"half", Code::half},  {"lowest", Code::lowest}, {"highest", Code::highest}};
    for (const Expression& operand : node.operands) compile(*operand, slots);
    if (node.kind == "number" || node.kind == "true" || node.kind == "false") {
        add(Code::push, node.kind == "number" ? node.number : node.kind == "true" ? 1 : 0);
    } else if (node.kind == "variable") {
        add(Code::load, slots.of(node.name));
    } else if (node.kind == "function") {
        add(node.operands.size() == 1 ? Code::some1 : Code::some2);
    } else if (node.kind == "and") {
        for (std::size_t i = 1; i < node.operands.size(); ++i) add(Code::both);
    } else {
        add(codes.at(node.kind));
    }
}

std::int64_t Program::run(const Values& values) const {
    std::int64_t stack[64] = {0};  // 0 is the value of no expression
    std::size_t top = 0;           // entries
    for (const auto& [code, number] : steps_) {
        if (code == Code::push || code == Code::load) {
            if (top == std::size(stack)) throw Error(ErrorCode::unsupported, "an expression is too deep");
            stack[top++] = code == Code::push ? number : values.slots[static_cast<std::size_t>(number)];
            continue;
        }
        std::int64_t& a = stack[top - 1];
        if (code == Code::negate) {
            a = a == 0 ? 1 : 0;
        } else if (code == Code::half) {
            a >>= 1;
        } else if (code == Code::lowest) {
            a &= -a;
        } else if (code == Code::highest) {
            a = a < 1 ? 0 : static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(a)));
        } else if (code == Code::some1) {
            a = values.some(a, -1) ? 1 : 0;
        } else if (code == Code::choose) {
            stack[top - 3] = stack[top - 3] != 0 ? stack[top - 2] : a;
            top -= 2;
        } else {
            std::int64_t& left = stack[top - 2];
            left =
                code == Code::some2 ? static_cast<std::int64_t>(values.some(left, a)) : result(code, left, a);
            --top;
        }
    }
    return stack[0];
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
