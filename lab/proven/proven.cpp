#include "proven/proven.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

namespace lapwing {
namespace {

using Key = std::pair<Collective, std::string_view>;

struct Proven {
    Key key;
    ProvenForms forms;
};
constexpr Proven proven[] = {
#define LAPWING_PROVEN(collective, name, in_place, ordered) \
    {{Collective::collective, #name}, {in_place, ordered}},
#include "proven/proven.def"
};

}  // namespace

std::optional<ProvenForms> proven_for_all_ranks(Collective collective, std::string_view algorithm) {
    const auto* const row = std::ranges::find(proven, Key{collective, algorithm}, &Proven::key);
    return row == std::end(proven) ? std::nullopt : std::optional(row->forms);
}

}  // namespace lapwing
