#include "collectives/proven.hpp"

namespace lapwing {

std::optional<ProvenForms> proven_for_all_ranks(Collective collective, std::string_view algorithm) {
    struct Row {
        Collective collective;
        std::string_view name;
        ProvenForms forms;
    };
    static constexpr Row rows[] = {
#define LAPWING_PROVEN(collective, name, in_place, ordered) \
    {Collective::collective, #name, {in_place, ordered}},
#include "collectives/proven.def"
    };
    for (const Row& row : rows) {
        if (row.collective == collective && row.name == algorithm) return row.forms;
    }
    return std::nullopt;
}

int sampled_to(Collective collective, std::string_view algorithm) {
    struct Row {
        Collective collective;
        std::string_view name;
        int ranks;
    };
    static constexpr Row fewer[] = {
#define LAPWING_SAMPLED(collective, name, ranks) {Collective::collective, #name, ranks},
#include "collectives/sampled.def"
    };
    for (const Row& row : fewer) {
        if (row.collective == collective && row.name == algorithm) return row.ranks;
    }
    return 4096;
}

}  // namespace lapwing
