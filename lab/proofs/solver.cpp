#include "proofs/obligations.hpp"

#include <fmt/format.h>
#include <z3.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
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

    std::string answer(const std::string& commands) {
        return Z3_eval_smtlib2_string(context_, commands.c_str());
    }

  private:
    Z3_config configuration_;
    Z3_context context_;
};

// "((P 3) (r #x000000001))" as "P=3 r=1".
std::string readable(const std::string& model) {
    static const std::regex value(R"(\((\w+)\s+(?:#x([0-9a-f]+)|#b([01]+)|(\d+)|\(- (\d+)\))\))");
    std::string text;
    for (auto at = std::sregex_iterator(model.begin(), model.end(), value); at != std::sregex_iterator();
         ++at) {
        const std::smatch& match = *at;
        const std::string number = match[2].matched   ? std::to_string(std::stoll(match[2], nullptr, 16))
                                   : match[3].matched ? std::to_string(std::stoll(match[3], nullptr, 2))
                                   : match[4].matched ? match[4].str()
                                                      : "-" + match[5].str();
        text += fmt::format("{}{}={}", text.empty() ? "" : " ", match[1].str(), number);
    }
    return text;
}

constexpr unsigned few_bits = 5;

// For another solver: README.md.
void keep(const std::string& text) {
    static std::atomic<int> number = 0;
    if (const char* folder = std::getenv("LAPWING_SMT"))
        std::ofstream(fmt::format("{}/{:04}.smt2", folder, number++)) << text;
}

}  // namespace

std::optional<std::string> counter_example(const Obligation& obligation) {
    thread_local Solver solver;
    std::vector<std::string> asked;
    std::string answer;
    const auto holds = [&](Sort sort, unsigned bits) {
        const std::string text = to_smt(obligation, sort, bits, &asked);
        answer = solver.answer("(reset)\n" + text);
        if (answer == "unsat\n" && bits != few_bits) keep(text);
        return answer == "unsat\n";
    };
    if (holds(Sort::integers, 0)) return std::nullopt;
    // A counter-example of few ranks is found soon, and read with ease.
    if (has_bits(obligation) && holds(Sort::bits, few_bits) &&
        holds(Sort::bits, obligation.rule == "lemma" ? lemma_bits : rank_bits))
        return std::nullopt;
    if (answer != "sat\n") return answer;
    std::string names;
    for (const std::string& name : asked) names += " " + name;
    return readable(solver.answer(fmt::format("(get-value ({}))\n", names)));
}

}  // namespace lapwing::proofs
