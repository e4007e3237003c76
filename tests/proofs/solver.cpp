#include "proofs/solver.hpp"

#include <fmt/format.h>
#include <z3.h>

#include <regex>

namespace lapwing::proofs {
namespace {

// Evaluates commands in SMT-LIB.
class Solver {
  public:
    Solver() : configuration_(Z3_mk_config()), context_(Z3_mk_context(configuration_)) {}
    ~Solver() {
        Z3_del_context(context_);
        Z3_del_config(configuration_);
    }
    Solver(const Solver&) = delete;
    Solver& operator=(const Solver&) = delete;

    std::string answer(const std::string& commands) { return Z3_eval_smtlib2_string(context_, commands.c_str()); }

  private:
    Z3_config configuration_;
    Z3_context context_;
};

// "((P 3) (r #x000000001))" as "P=3 r=1".
std::string readable(const std::string& model) {
    static const std::regex value(R"(\((\w+)\s+(?:#x([0-9a-f]+)|#b([01]+)|(\d+)|\(- (\d+)\))\))");
    std::string text;
    for (auto at = std::sregex_iterator(model.begin(), model.end(), value); at != std::sregex_iterator(); ++at) {
        const std::smatch& match = *at;
        const std::string number = match[2].matched   ? std::to_string(std::stoll(match[2], nullptr, 16))
                                   : match[3].matched ? std::to_string(std::stoll(match[3], nullptr, 2))
                                   : match[4].matched ? match[4].str()
                                                      : "-" + match[5].str();
        text += fmt::format("{}{}={}", text.empty() ? "" : " ", match[1].str(), number);
    }
    return text;
}

}  // namespace

std::optional<std::string> counter_example(const Obligation& obligation) {
    static Solver solver;
    std::vector<std::string> asked;
    std::string answer;
    for (const Sort sort : {Sort::integers, Sort::bits}) {
        if (sort == Sort::bits && !has_bits(obligation)) break;
        answer = solver.answer("(reset)\n" + to_smt(obligation, sort, &asked));
        if (answer == "unsat\n") return std::nullopt;
    }
    if (answer != "sat\n") return answer;
    std::string names;
    for (const std::string& name : asked) names += " " + name;
    return readable(solver.answer(fmt::format("(get-value ({}))\n", names)));
}

}  // namespace lapwing::proofs
