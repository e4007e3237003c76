#include "collectives/reproducible.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "collectives/user_lists.hpp"

namespace lapwing {
namespace {

constexpr std::pair<Collective, std::string_view> reproducible[] = {
#define LAPWING_REPRODUCIBLE(collective, name) {Collective::collective, #name},
#include "collectives/reproducible.def"
};

}  // namespace

Verdict keeps_bracketing(const Problem& problem, const Choice& choice) {
    const Algorithm& algorithm = *choice.algorithm;
    if (algorithm.lists != nullptr) return algorithm.lists->keeps_bracketing(problem);
    const bool keeps =
        std::ranges::find(reproducible, std::pair(algorithm.collective, std::string_view(algorithm.name))) !=
        std::end(reproducible);
    return keeps ? Verdict::yes() : Verdict::no("it does not keep the fixed bracketing of --reproducible");
}

}  // namespace lapwing
