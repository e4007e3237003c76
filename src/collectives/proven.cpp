#include "collectives/proven.hpp"

#include <algorithm>
#include <iterator>

#include "collectives/user_lists.hpp"

namespace lapwing {
namespace {

struct Key {
    Collective collective;
    std::string_view name;

    bool operator==(const Key&) const = default;
};

struct Proven {
    Key key;
    ProvenForms forms;
};
constexpr Proven proven[] = {
#define LAPWING_PROVEN(collective, name, in_place, ordered) \
    {{Collective::collective, #name}, {in_place, ordered}},
#include "collectives/proven.def"
};

struct Sampled {
    Key key;
    int ranks;
};
constexpr Sampled sampled[] = {
#define LAPWING_SAMPLED(collective, name, ranks) {{Collective::collective, #name}, ranks},
#include "collectives/sampled.def"
};

constexpr Key reproducible[] = {
#define LAPWING_REPRODUCIBLE(collective, name) {Collective::collective, #name},
#include "collectives/reproducible.def"
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

Verdict keeps_bracketing(const Problem& problem, const Choice& choice) {
    const Algorithm& algorithm = *choice.algorithm;
    if (algorithm.lists != nullptr) return algorithm.lists->keeps_bracketing(problem);
    const Key key{algorithm.collective, algorithm.name};
    const bool keeps = std::ranges::find(reproducible, key) != std::end(reproducible);
    return keeps ? Verdict::yes() : Verdict::no("it does not keep the fixed bracketing of --reproducible");
}

}  // namespace lapwing
