#include "proofs/certificate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "base/error.hpp"

namespace lapwing::proofs {
namespace {

struct Token {
    std::string text;
    int line = 0;
};

std::vector<Token> tokens_of(std::string_view text) {
    std::vector<Token> tokens;
    int line = 1;
    const auto word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
    for (std::size_t at = 0; at < text.size();) {
        const char c = text[at];
        std::size_t end = at + 1;
        if (c == '\n') ++line;
        if (c == '#') {
            at = std::min(text.find('\n', at), text.size());
            continue;
        }
        if (std::isspace(static_cast<unsigned char>(c)) != 0) {
            at = end;
            continue;
        }
        if (word(c)) {
            while (end < text.size() && word(text[end])) ++end;
        } else {
            for (const std::string_view symbol : {"..", "==", "!=", "<=", ">=", "&&", "||"})
                if (text.substr(at, 2) == symbol) end = at + 2;
        }
        tokens.push_back({std::string(text.substr(at, end - at)), line});
        at = end;
    }
    tokens.push_back({"", line});
    return tokens;
}

struct Macro {
    std::vector<std::string> parameters;
    Expression body;
};

class Parser {
  public:
    explicit Parser(std::string_view text) : tokens_(tokens_of(text)) {}

    Expression expression() { return choice(); }

    Certificate certificate() {
        result_.applies = truth(true);
        result_.parts = number(1);
        expect("proof");
        do {
            const std::string collective = name();
            result_.algorithms.emplace_back(collective, name());
        } while (accept(","));
        expect(";");
        while (!peek().empty()) statement();
        return std::move(result_);
    }

    void end() { expect(""); }

  private:
    // Expressions; operators on bits bind tighter than comparisons.
    Expression choice() {
        Expression condition = binary(0);
        if (!accept("?")) return condition;
        Expression yes = choice();
        expect(":");
        return operation("ite", {condition, yes, choice()});
    }

    Expression binary(std::size_t level) {
        static const std::vector<std::vector<std::string>> levels = {
            {"||"}, {"&&"}, {"==", "!=", "<", "<=", ">", ">="}, {"|"}, {"^"}, {"&"}, {"+", "-"}, {"*"}};
        if (level == levels.size()) return unary();
        Expression left = binary(level + 1);
        while (std::find(levels[level].begin(), levels[level].end(), peek()) != levels[level].end()) {
            const std::string symbol = next();
            Expression right = binary(level + 1);
            if (symbol == "||")
                left = any_of({left, right});
            else if (symbol == "&&")
                left = all_of({left, right});
            else if (symbol == "!=")
                left = negation(equal(left, right));
            else
                left = operation(symbol == "==" ? "=" : symbol, {left, right});
        }
        return left;
    }

    Expression unary() {
        if (accept("!")) return negation(unary());
        if (accept("-")) return operation("-", {number(0), unary()});
        if (accept("(")) {
            Expression inner = choice();
            expect(")");
            return inner;
        }
        const std::string word = next();
        if (word.empty() || (std::isalnum(static_cast<unsigned char>(word[0])) == 0))
            fail("expression", word);
        if (std::isdigit(static_cast<unsigned char>(word[0])) != 0) return number(std::stoll(word));
        if (word == "true" || word == "false") return truth(word == "true");
        std::vector<Expression> arguments;
        const bool called = accept("(");
        if (called) {
            do arguments.push_back(choice());
            while (accept(","));
            expect(")");
        }
        if (const auto macro = macros_.find(word); macro != macros_.end()) {
            if (arguments.size() != macro->second.parameters.size())
                fail(fmt::format("{} argument(s) of {}", macro->second.parameters.size(), word), peek());
            Substitution substitution;
            for (std::size_t i = 0; i < arguments.size(); ++i)
                substitution[macro->second.parameters[i]] = arguments[i];
            return replace(macro->second.body, substitution);
        }
        return called ? builtin(word, arguments) : variable(word);
    }

    Expression builtin(const std::string& word, const std::vector<Expression>& arguments) {
        if (word == "some") return call(fmt::format("some{}", arguments.size()), arguments);
        const Expression& a = arguments[0];
        if (arguments.size() == 2 && (word == "min" || word == "max"))
            return operation("ite",
                             {operation(word == "min" ? "<" : ">", {a, arguments[1]}), a, arguments[1]});
        if (arguments.size() != 1) fail("function of one argument", word);
        const Expression ranks = variable("P");
        if (word == "wrap")
            return operation("ite", {operation(">=", {a, ranks}), operation("-", {a, ranks}), a});
        if (word == "lowest" || word == "highest" || word == "half") return operation(word, {a});
        if (word == "power")
            return all_of({operation(">=", {a, number(1)}),
                           equal(operation("&", {a, operation("-", {a, number(1)})}), number(0))});
        fail("function", word);
    }

    void statement() {
        if (accept("let")) {
            const std::string word = name();
            Macro macro;
            if (accept("(")) {
                do macro.parameters.push_back(name());
                while (accept(","));
                expect(")");
            }
            expect("=");
            macro.body = expression();
            macros_[word] = std::move(macro);
        } else if (accept("applies")) {
            result_.applies = expression();
        } else if (accept("parts")) {
            result_.parts = expression();
        } else if (accept("in_place")) {
            result_.in_place = true;
        } else if (accept("ordered")) {
            result_.ordered = true;
        } else if (accept("version") || accept("ghost")) {
            Array array;
            const bool ghost = tokens_[at_ - 1].text == "ghost";
            array.name = name();
            array.ghost = ghost;
            if (accept("(")) {
                array.index = name();
                expect(")");
            }
            array.size = number(1);
            if (!ghost) {
                expect("of");
                array.base = name();
                array.size = nullptr;
            }
            result_.arrays.push_back(std::move(array));
        } else if (accept("holds")) {
            holds();
        } else if (accept("final")) {
            final();
        } else if (accept("loop")) {
            loop();
            return;
        } else {
            task({});
            ++section_;
        }
        expect(";");
    }

    void loop() {
        Step form;
        form.variable = name();
        expect("=");
        if (accept("powers")) {
            expect("below");
            form.powers = true;
            form.first = number(1);
            form.last = expression();
        } else {
            form.first = expression();
            expect("..");
            form.last = expression();
        }
        if (accept(",")) {
            expect("down");
            form.down = true;
        }
        expect("{");
        while (!accept("}")) {
            task(form);
            expect(";");
            ++form.position;
        }
        ++section_;
    }

    void task(Step step) {
        step.section = section_;
        step.condition = truth(true);
        if (accept("scratch")) {
            step.kind = TaskKind::allocate;
            Array array;
            array.name = name();
            step.label = array.name;
            if (accept("(")) {
                array.index = name();
                if (array.index != step.variable) fail("the variable of the loop", array.index);
                expect(")");
            }
            expect("[");
            array.size = expression();
            step.target = {array.name, nullptr, number(0), array.size};
            expect("]");
            if (accept("of")) array.layout = expression();
            result_.arrays.push_back(std::move(array));
        } else {
            step.label = name();
            expect(":");
            const std::string kind = next();
            if (kind == "recv") {
                step.kind = TaskKind::recv;
                step.peer = expression();
                expect("to");
                step.target = blocks();
            } else if (kind == "send") {
                step.kind = TaskKind::send;
                step.peer = expression();
                expect("from");
                step.source = blocks();
            } else if (kind == "copy" || kind == "reduce" || kind == "join") {
                step.kind = kind == "copy"     ? TaskKind::copy
                            : kind == "reduce" ? TaskKind::reduce
                                               : TaskKind::join;
                step.target = blocks();
                expect("from");
                step.source = blocks();
                if (kind != "copy") {
                    step.old = std::move(step.source);
                    expect("with");
                    step.source = blocks();
                }
            } else if (kind == "wait") {
                step.kind = TaskKind::wait;
                step.receives = name();
                step.receive = argument();
            } else {
                fail("kind of task", kind);
            }
        }
        while (peek() != ";") {
            if (accept("when")) {
                step.condition = expression();
            } else if (accept("tag")) {
                step.tag = expression();
            } else {
                expect("time");
                step.time = expression();
            }
        }
        if ((step.kind == TaskKind::send || step.kind == TaskKind::recv) && step.tag == nullptr)
            fail("tag of the message", peek());
        if ((step.kind == TaskKind::send || step.kind == TaskKind::wait) && step.time == nullptr)
            fail("time of the task", peek());
        if (result_.step(step.label) != nullptr) fail("new label", step.label);
        result_.steps.push_back(std::move(step));
    }

    Expression argument() {
        if (!accept("(")) return nullptr;
        Expression value = expression();
        expect(")");
        return value;
    }

    Blocks blocks() {
        Blocks blocks;
        blocks.array = name();
        blocks.index = argument();
        blocks.block = number(0);
        blocks.count = number(1);
        if (accept("[")) {
            blocks.block = expression();
            if (accept(":")) blocks.count = expression();
            expect("]");
        }
        return blocks;
    }

    void holds() {
        const std::string word = name();
        auto array = std::ranges::find(result_.arrays, word, &Array::name);
        if (array == result_.arrays.end()) {
            result_.arrays.push_back({});
            array = result_.arrays.end() - 1;
            array->name = word;
        }
        if (accept("(")) {
            const std::string index = name();
            if (array->size != nullptr && !array->index.empty())
                array->size = replace(array->size, {{array->index, variable(index)}});
            if (array->layout != nullptr && !array->index.empty())
                array->layout = replace(array->layout, {{array->index, variable(index)}});
            array->index = index;
            expect(")");
        }
        array->block = "block";
        if (accept("[")) {
            array->block = name();
            expect("]");
        }
        expect(":");
        array->holds = expression();
        array->origin = number(0);
        if (accept(",")) {
            expect("block");
            array->origin = expression();
        }
        expect("by");
        do {
            Writer writer;
            writer.label = name();
            writer.value = argument();
            writer.condition = accept("when") ? expression() : truth(true);
            array->writers.push_back(std::move(writer));
        } while (accept(","));
    }

    void final() {
        expect("[");
        result_.block = name();
        expect("]");
        expect(":");
        do {
            Final from;
            from.from = blocks();
            from.condition = accept("when") ? expression() : truth(true);
            result_.final.push_back(std::move(from));
        } while (accept(","));
    }

    const std::string& peek() const { return tokens_[at_].text; }
    std::string next() { return peek().empty() ? std::string() : tokens_[at_++].text; }
    bool accept(std::string_view text) {
        if (peek() != text || text.empty()) return false;
        ++at_;
        return true;
    }
    void expect(std::string_view text) {
        if (peek() == text) {
            if (!text.empty()) ++at_;
            return;
        }
        fail(text.empty() ? "the end" : std::string("'").append(text) + "'", peek());
    }
    std::string name() {
        const std::string word = next();
        if (word.empty() || std::isalpha(static_cast<unsigned char>(word[0])) == 0) fail("name", word);
        return word;
    }
    [[noreturn]] void fail(const std::string& wanted, const std::string& found) const {
        throw Error(ErrorCode::parse,
                    fmt::format("line {}: expected {}, found '{}'", tokens_[at_].line, wanted, found));
    }

    std::vector<Token> tokens_;
    std::size_t at_ = 0;
    std::map<std::string, Macro> macros_;
    Certificate result_;
    int section_ = 0;
};

// The fields of Meaning, in their order. `parts` is the number of blocks into which a certificate cuts the
// vector. In place, -1 is no block of out. Tests compare these rows with task/result.hpp, for many numbers of
// ranks.
const std::map<std::string, std::array<const char*, 6>>& rows() {
    static const std::map<std::string, std::array<const char*, 6>> rows = {
        {"barrier", {"1", "0", "true", "0", "true", nullptr}},
        {"broadcast",
         {"r == root ? parts : 0", "r == root ? 0 : parts", "x == root", "block", "some(block)", nullptr}},
        {"gather",
         {"1", "r == root ? P : 0", "x == block", "0", "some(block, root)", "r == root ? root : 0 - 1"}},
        {"scatter",
         {"r == root ? P : 0", "r == root && in_place ? 0 : 1", "x == root", "r", "some(root, r)", "0 - 1"}},
        {"allgather", {"1", "P", "x == block", "0", "some(block)", "r"}},
        {"alltoall", {"P", "P", "x == block", "r", "some(block, r)", nullptr}},
        {"reduce", {"parts", "r == root ? parts : 0", "true", "block", "some(block)", nullptr}},
        {"allreduce", {"parts", "parts", "true", "block", "some(block)", nullptr}},
        {"reduce_scatter", {"P", "1", "true", "r", "some(r)", nullptr}},
        {"scan", {"1", "1", "x <= r", "0", "true", "block"}},
        {"exscan", {"1", "r > 0 ? 1 : 0", "x < r", "0", "true", "block"}},
    };
    return rows;
}

}  // namespace

const Array* Certificate::array(std::string_view name) const {
    const auto found = std::ranges::find(arrays, name, &Array::name);
    return found == arrays.end() ? nullptr : &*found;
}
const Step* Certificate::step(std::string_view label) const {
    const auto found = std::ranges::find(steps, label, &Step::label);
    return found == steps.end() ? nullptr : &*found;
}

Certificate parse_certificate(std::string_view text) {
    return Parser(text).certificate();
}
Expression parse_expression(std::string_view text) {
    Parser parser(text);
    Expression result = parser.expression();
    parser.end();
    return result;
}

const Meaning& meaning_of(const std::string& collective) {
    static std::map<std::string, Meaning> meanings;
    std::string plain = collective;
    if (plain.ends_with("_block")) plain.resize(plain.size() - 6);
    if (plain.ends_with("v")) plain.pop_back();
    const auto [at, added] = meanings.try_emplace(plain);
    if (added) {
        const auto row = rows().find(plain);
        if (row == rows().end())
            throw Error(ErrorCode::invalid_argument, fmt::format("no meaning of {} is known", collective));
        std::array<Expression, 6> fields;
        std::ranges::transform(row->second, fields.begin(), [](const char* text) {
            return text == nullptr ? nullptr : parse_expression(text);
        });
        at->second = {fields[0], fields[1], fields[2], fields[3], fields[4], fields[5]};
    }
    return at->second;
}

}  // namespace lapwing::proofs
