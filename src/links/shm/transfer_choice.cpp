#include "links/shm/transfer_choice.hpp"

#include <algorithm>
#include <bit>

#include "base/floating_point.hpp"

namespace lapwing::shm {
namespace {

// Another way must be faster by this factor: medians of the same way differ by as much.
constexpr float clearly = 0.95F;

std::size_t index(Way way) {
    return static_cast<std::size_t>(way);
}
Way other(Way way) {
    return way == Way::pieces ? Way::direct : Way::pieces;
}

}  // namespace

const char* name(Way way) {
    return way == Way::pieces ? "pieces" : "kernel";
}

TransferChoice::TransferChoice(std::uint64_t max_in_pieces) {
    for (std::size_t i = 0; i < classes; ++i)
        classes_[i].chosen = max_bytes_of(i) <= max_in_pieces ? Way::pieces : Way::direct;
}

std::size_t TransferChoice::class_of(std::uint64_t bytes) {
    const auto width = static_cast<std::size_t>(std::bit_width(std::max<std::uint64_t>(bytes, 1) - 1));
    return std::min(std::max<std::size_t>(width, 14) - 14, classes - 1);
}

TransferChoice::Decision TransferChoice::next(std::uint64_t bytes) {
    Class& of = classes_[class_of(bytes)];
    const std::uint64_t number = of.messages++;
    if (number < 2 * samples) {
        of.next_look = 2 * samples + of.interval;
        return {number % 2 == 0 ? of.chosen : other(of.chosen), true};
    }
    if (number >= of.next_look) {
        of.interval = std::min<std::uint32_t>(2 * of.interval, max_interval);
        of.next_look = number + of.interval;
        return {other(of.chosen), true};
    }
    return {of.chosen, number % timed_of == 0};
}

void TransferChoice::took(std::uint64_t bytes, Way way, std::uint64_t nanoseconds) {
    const DefaultFloatingPoint default_floating_point;
    Class& of = classes_[class_of(bytes)];
    const float sample = static_cast<float>(nanoseconds) / static_cast<float>(bytes);
    of.last[index(way)].add(sample);
    const Way alternative = other(of.chosen);
    if (!of.last[0].full() || !of.last[1].full()) return;
    const float standing = of.last[index(of.chosen)].median();
    if (of.last[index(alternative)].median() < clearly * standing) {
        of.chosen = alternative;
        of.interval = shortest_look;
        of.next_look = of.messages + of.interval;
    } else if (way == alternative && sample < clearly * standing) {
        // The times may have changed: measures until new samples have replaced the old ones or agree with
        // them.
        of.interval = shortest_look;
        of.next_look = of.messages;
    }
}

std::vector<TransferTimes> TransferChoice::times() const {
    std::vector<TransferTimes> all;
    for (std::size_t i = 0; i < classes; ++i) {
        const Class& of = classes_[i];
        if (of.messages == 0) continue;
        TransferTimes& times = all.emplace_back();
        times.max_bytes = max_bytes_of(i);
        times.messages = of.messages;
        times.chosen = of.chosen;
        if (of.last[0].full() && of.last[1].full()) times.pairs[index(of.chosen)] = 1;
        for (const Way way : {Way::pieces, Way::direct}) {
            if (of.last[index(way)].empty()) continue;
            times.measured[index(way)] = 1;
            times.nanoseconds[index(way)] =
                static_cast<double>(of.last[index(way)].median()) * static_cast<double>(times.max_bytes);
        }
    }
    return all;
}

}  // namespace lapwing::shm
