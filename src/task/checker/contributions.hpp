// The origin of the contents of a byte range: the input of one rank, or a reduction of several.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

namespace lapwing::checker {

// The byte at offset x of a space holds the byte at x + shift of the input of the rank or ranks `what`.
struct Content {
    std::uint32_t what = 0;
    std::int64_t shift = 0;  // of the first contribution

    bool operator==(const Content&) const = default;
};

// Assigns a number to every combination of contributions. Numbers below `ranks` are the unchanged bytes of
// that rank; all others are a reduction of two numbers.
class Contributions {
  public:
    explicit Contributions(int ranks) : ranks_(static_cast<std::uint32_t>(ranks)) {}

    bool reduced(std::uint32_t what) const { return what >= ranks_; }

    Content combine(const Content& source, const Content& target) {
        const Reduction reduction{source.what, target.what, target.shift - source.shift};
        const auto next = static_cast<std::uint32_t>(ranks_ + reductions_.size());
        const auto [place, added] = numbers_.try_emplace(reduction, next);
        if (added) reductions_.push_back(reduction);
        return {place->second, source.shift};
    }

    // Calls visit(rank, shift) for each contribution, in the order of the operands, until it returns false. A
    // number may represent too many contributions to visit: visit() must stop at the second of a rank.
    template <typename Visit>
    void visit(const Content& content, Visit visit) const {
        std::vector<Content> open{content};
        while (!open.empty()) {
            const Content top = open.back();
            open.pop_back();
            if (!reduced(top.what)) {
                if (!visit(static_cast<int>(top.what), top.shift)) return;
                continue;
            }
            const Reduction& reduction = reductions_[top.what - ranks_];
            open.push_back({reduction.target, top.shift + reduction.distance});
            open.push_back({reduction.source, top.shift});
        }
    }

    // Returns the value of the expression that a number represents: leaf(rank), join(value, value).
    template <typename Leaf, typename Join>
    auto evaluate(std::uint32_t what, const Leaf& leaf, const Join& join) const -> decltype(leaf(0)) {
        if (!reduced(what)) return leaf(static_cast<int>(what));
        const Reduction& reduction = reductions_[what - ranks_];
        const auto left = evaluate(reduction.source, leaf, join);
        return join(left, evaluate(reduction.target, leaf, join));
    }

  private:
    struct Reduction {
        std::uint32_t source;
        std::uint32_t target;
        std::int64_t distance;  // from the source's shift to the target's

        bool operator==(const Reduction&) const = default;
    };
    struct Hash {
        std::size_t operator()(const Reduction& reduction) const {
            const std::uint64_t operands = (std::uint64_t{reduction.source} << 32) | reduction.target;
            return std::hash<std::uint64_t>{}(
                (operands ^ static_cast<std::uint64_t>(reduction.distance) << 7) * 0x9e3779b97f4a7c15U);
        }
    };

    std::uint32_t ranks_;
    std::vector<Reduction> reductions_;
    std::unordered_map<Reduction, std::uint32_t, Hash> numbers_;
};

}  // namespace lapwing::checker
