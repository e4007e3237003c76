// Expressions of certificates, over integers and truth values: evaluated at given numbers of ranks, and
// written as SMT-LIB for all of them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace lapwing::proofs {

struct Node;
using Expression = std::shared_ptr<const Node>;

// An operation by its SMT-LIB name in integer arithmetic ("+", "<", "ite"), or one of the operations on bits
// "&", "|",
// "^", "lowest" and "highest" (the lowest and the highest bit that is set) and "half" (rounded down), or
// "number", "variable", "function".
struct Node {
    std::string kind;
    std::string name;         // of a variable or a function
    std::int64_t number = 0;  // of a number
    std::vector<Expression> operands;
};

Expression number(std::int64_t value);
Expression truth(bool value);
Expression variable(std::string name);
Expression call(std::string function, std::vector<Expression> arguments);
Expression operation(std::string kind, std::vector<Expression> operands);
Expression all_of(std::vector<Expression> conditions);
Expression any_of(std::vector<Expression> conditions);
Expression negation(Expression condition);
Expression equal(Expression a, Expression b);
Expression implies(Expression a, Expression b);

// Replaces variables, all at once.
using Substitution = std::map<std::string, Expression>;
Expression replace(const Expression& expression, const Substitution& substitution);

// Returns the x for which expression(x) = value, where the expression is the variable, or adds or subtracts
// something without the variable, or subtracts it from something. Null if it has another form.
Expression solve(const Expression& expression, const std::string& unknown, const Expression& value);

bool uses(const Expression& expression, const std::string& variable);
// Whether integers alone cannot express it.
bool uses_bits(const Expression& expression);

// Numbers for the variables of programs.
class Slots {
  public:
    std::int64_t of(const std::string& name) const {
        return numbers_.try_emplace(name, static_cast<std::int64_t>(numbers_.size())).first->second;
    }
    std::size_t count() const { return numbers_.size(); }

  private:
    mutable std::map<std::string, std::int64_t> numbers_;
};

struct Values {
    std::vector<std::int64_t> slots;  // truth values are 0 or 1
    std::function<bool(std::int64_t, std::int64_t)>
        some;  // whether a block has bytes; the second is -1 if absent
};

// Returns the value of an expression, which is evaluated often; truth values are 0 or 1.
using Program = std::function<std::int64_t(const Values&)>;
// Returns a program of value 0 if the expression is null.
Program compile(const Expression& expression, const Slots& slots);

// SMT-LIB has no operations on the bits of integers. An obligation with such operations is therefore tried
// twice: over integers, with the operations as functions of which only the lemmas are known, so that it holds
// for them too if it holds; and over vectors of bits. The vectors are wide enough for every intermediate
// result, so that they behave as integers do.
enum class Sort { integers, bits };
constexpr unsigned rank_bits = 31;   // ranks are numbered by int
constexpr unsigned lemma_bits = 58;  // more than any number has that lemmas are applied to
// The bits that the absolute value of any intermediate result may need, if variables have so many.
unsigned bits_of(const Expression& expression, unsigned variable_bits);
std::string to_smt(const Expression& expression, Sort sort, unsigned width);

// Calls visit(name, arguments) for the variables (arguments -1) and functions.
void for_each_name(const Expression& expression, const std::function<void(const std::string&, int)>& visit);

}  // namespace lapwing::proofs
