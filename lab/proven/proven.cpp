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

struct Sampled {
    Key key;
    int ranks;
};
constexpr Sampled sampled[] = {
#define LAPWING_SAMPLED(collective, name, ranks) {{Collective::collective, #name}, ranks},
#include "proven/sampled.def"
};

}  // namespace

std::optional<ProvenForms> proven_for_all_ranks(Collective collective, std::string_view algorithm) {
    const auto* const row = std::ranges::find(proven, Key{collective, algorithm}, &Proven::key);
    return row == std::end(proven) ? std::nullopt : std::optional(row->forms);
}

int sampled_to(Collective collective, std::string_view algorithm) {
    const auto* const row = std::ranges::find(sampled, Key{collective, algorithm}, &Sampled::key);
    return row == std::end(sampled) ? 4096 : row->ranks;
}

}  // namespace lapwing
