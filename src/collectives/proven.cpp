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

}  // namespace lapwing
