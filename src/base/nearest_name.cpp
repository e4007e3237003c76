#include "base/nearest_name.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <vector>

namespace lapwing {
namespace {

std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const bool same = std::tolower(static_cast<unsigned char>(a[i - 1])) ==
                              std::tolower(static_cast<unsigned char>(b[j - 1]));
            const std::size_t replaced = diagonal + (same ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
        }
    }
    return row[b.size()];
}

}  // namespace

std::string nearest_name(std::string_view written, std::span<const std::string> valid) {
    std::string best;
    // A third of the letters may be wrong, and two in any case: "bruk", "ENGIEN". One letter must be right:
    // "-O" is not "-h".
    const std::size_t letters = written.size() - std::min(written.find_first_not_of('-'), written.size());
    std::size_t best_distance = std::min(std::max<std::size_t>(2, written.size() / 3) + 1, letters);
    for (const std::string& name : valid) {
        const std::size_t d = distance(written, name);
        if (d < best_distance) {
            best_distance = d;
            best = name;
        }
    }
    return best;
}

std::string suggestion(std::string_view written, std::span<const std::string> valid) {
    const std::string nearest = nearest_name(written, valid);
    if (!nearest.empty()) return fmt::format("; did you mean '{}'?", nearest);
    std::vector<std::string> once;
    for (const std::string& name : valid) {
        if (std::ranges::find(once, name) == once.end()) once.push_back(name);
    }
    return fmt::format("; valid: {}", fmt::join(once, ", "));
}

}  // namespace lapwing
