// What the tests of the checker say and hear.
#pragma once

#include "support/unit.hpp"
#include "task/checker.hpp"
#include "task/text.hpp"

namespace lapwing {

// The text with `before` replaced where it stands first.
inline std::string with(std::string text, const std::string& before, const std::string& after) {
    const std::size_t place = text.find(before);
    if (place == std::string::npos) throw std::logic_error("not in the text: " + before);
    return text.replace(place, before.size(), after);
}

// The first violation as people read it, or "proven".
inline std::string verdict(const ListSet& set, const CheckLimits& limits = {}) {
    const std::vector<Violation> violations = check(set.problem, set.lists, limits);
    return violations.empty() ? "proven" : violations[0].what(set.lists);
}
inline std::string verdict(const std::string& text, const CheckLimits& limits = {}) {
    return verdict(parse(text), limits);
}

}  // namespace lapwing
