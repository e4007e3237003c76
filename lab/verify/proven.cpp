#include "verify/verify.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lapwing/common/tables.hpp"
#include "proven/proven.hpp"

namespace lapwing::tool {
namespace {

std::string forms_of(const ProvenForms& forms, Collective collective) {
    std::string except;
    if (may_be_in_place(collective) && !forms.in_place) except = "in place";
    if (is_reduction(collective) && !forms.ordered)
        except += fmt::format("{}operators that do not commute", except.empty() ? "" : " and ");
    return except;
}

}  // namespace

void print_proven(std::span<const Choice> choices) {
    const std::string some = fmt::format("1 to {}, {}", verified_ranks, fmt::join(verified_samples, ", "));
    std::vector<std::vector<std::string>> rows = {{"collective", "algorithm", "ranks", "except"}};
    const Algorithm* last = nullptr;
    std::size_t proven = 0;
    for (const Choice& choice : choices) {
        const Algorithm& algorithm = *choice.algorithm;
        if (&algorithm == last) continue;
        last = &algorithm;
        const auto forms = proven_for_all_ranks(algorithm.collective, algorithm.name);
        const std::string except = forms ? forms_of(*forms, algorithm.collective) : "";
        if (forms) ++proven;
        rows.push_back({name(algorithm.collective), algorithm.name, forms ? "all" : some, except});
    }
    fmt::print(
        "{}\n"
        "{} of {} algorithms are proven for every number of ranks. A saved run of this command proves the "
        "other algorithms for\n"
        "the numbers above (docs/results/amd-epyc/verify.txt), and another run proves random problems of "
        "up to 4,096\n"
        "ranks, or fewer where their lists would need too much memory (verify-sampled.txt). The tests prove "
        "the "
        "lists of\n"
        "all algorithms for 1 to {} ranks, some for up to {}.\n",
        align(rows), proven, rows.size() - 1, enumerated_ranks, sampled_ranks);
}

}  // namespace lapwing::tool
