// A map from bytes of a space to values; adjacent bytes with the same value share one entry.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace lapwing::checker {

template <typename Value>
class Segments {
  public:
    struct Segment {
        std::uint64_t offset;
        std::uint64_t end;
        Value value;
    };

    void clear() { segments_.clear(); }

    // Calls visit(segment) for each segment in the range, cut to the range, in ascending order, until it
    // returns false. Skips bytes without a value.
    template <typename Visit>
    void visit(std::uint64_t offset, std::uint64_t end, Visit visit) const {
        for (auto i = first_after(offset); i != segments_.end() && i->offset < end; ++i) {
            if (!visit(Segment{std::max(i->offset, offset), std::min(i->end, end), i->value})) return;
        }
    }

    void assign(std::uint64_t offset, std::uint64_t end, const Value& value) {
        const Segment segment{offset, end, value};
        replace(offset, end, {&segment, 1});
    }
    void erase(std::uint64_t offset, std::uint64_t end) { replace(offset, end, {}); }

    // Replaces the contents of the range by these segments, which must lie in it, in order.
    void replace(std::uint64_t offset, std::uint64_t end, std::span<const Segment> with) {
        if (offset == end) return;
        auto first = first_after(offset);
        auto last = first;
        while (last != segments_.end() && last->offset < end) ++last;
        fresh_.clear();
        if (first != last && first->offset < offset) {
            fresh_.push_back({first->offset, offset, first->value});
        } else if (first != segments_.begin() && (first - 1)->end == offset) {
            fresh_.push_back(*--first);  // it may join what follows
        }
        for (const Segment& segment : with) join(segment);
        if (last != segments_.begin() && (last - 1)->end > end) {
            join({end, (last - 1)->end, (last - 1)->value});
        } else if (last != segments_.end() && last->offset == end) {
            join(*last++);
        }
        splice(first - segments_.begin(), last - segments_.begin());
    }

  private:
    typename std::vector<Segment>::const_iterator first_after(std::uint64_t offset) const {
        if (segments_.empty() || segments_.back().end <= offset) return segments_.end();
        return std::partition_point(segments_.begin(), segments_.end(),
                                    [offset](const Segment& segment) { return segment.end <= offset; });
    }

    void join(const Segment& segment) {
        if (!fresh_.empty() && fresh_.back().end == segment.offset && fresh_.back().value == segment.value) {
            fresh_.back().end = segment.end;
        } else {
            fresh_.push_back(segment);
        }
    }

    // Replaces the segments [first, last) by fresh_.
    void splice(std::ptrdiff_t first, std::ptrdiff_t last) {
        const std::ptrdiff_t common = std::min<std::ptrdiff_t>(last - first, std::ssize(fresh_));
        std::copy_n(fresh_.begin(), common, segments_.begin() + first);
        if (common < last - first) {
            segments_.erase(segments_.begin() + first + common, segments_.begin() + last);
        } else {
            segments_.insert(segments_.begin() + last, fresh_.begin() + common, fresh_.end());
        }
    }

    std::vector<Segment> segments_;  // in order, disjoint; adjacent ones have different values
    std::vector<Segment> fresh_;
};

}  // namespace lapwing::checker
