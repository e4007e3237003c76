// Lists with their chain forms, and the verdict on these.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "chains/check.hpp"
#include "task/text.hpp"

namespace lapwing {

struct Formed {
    ListSet set;
    ChainLimits limits;
    std::vector<Chains> chains;
    std::vector<int> hosts = {};
};

inline Formed form(const ListSet& set, const ChainLimits& limits, const std::vector<int>& hosts = {}) {
    Formed result{set, limits, {}, hosts};
    for (const List& list : set.lists)
        result.chains.push_back(lower_to_chains(list, limits, intra_node_peers(hosts, list.rank)));
    return result;
}
inline Formed form(const std::string& text, const ChainLimits& limits) {
    return form(parse(text), limits);
}

inline std::string print(const Formed& formed) {
    std::string text = print(formed.set) + "hosts " + testing::PrintToString(formed.hosts) + "\n";
    for (const Chains& chains : formed.chains) text += print(chains);
    return text;
}

inline std::string verdict_of(const Formed& formed) {
    const auto fault = check_chains(formed.set.lists, formed.chains, formed.limits, formed.hosts);
    return fault ? fault->what(formed.set.lists) : "proven";
}

inline constexpr ChainLimits nothing_in_line{.eager_bytes = 0};

}  // namespace lapwing
