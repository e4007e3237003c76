#include "collectives/reproducible.hpp"

#include <algorithm>
#include <iterator>

#include "collectives/user_lists.hpp"

namespace lapwing {

Verdict keeps_bracketing(const Problem& problem, const Choice& choice) {
    const Algorithm& algorithm = *choice.algorithm;
    if (algorithm.lists != nullptr) return algorithm.lists->keeps_bracketing(problem);
    struct Row {
        Collective collective;
        std::string_view name;
    };
    static constexpr Row rows[] = {
#define LAPWING_REPRODUCIBLE(collective, name) {Collective::collective, #name},
#include "collectives/reproducible.def"
    };
    const bool keeps = std::any_of(std::begin(rows), std::end(rows), [&](const Row& row) {
        return row.collective == algorithm.collective && row.name == algorithm.name;
    });
    return keeps ? Verdict::yes() : Verdict::no("it does not keep the fixed bracketing of --reproducible");
}

}  // namespace lapwing
