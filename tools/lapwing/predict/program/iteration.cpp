#include "lapwing/predict/program/iteration.hpp"

#include <algorithm>

namespace lapwing::tool {
namespace {

constexpr int max_drawn_ranks = 16;
constexpr std::size_t max_spans_of_a_rank = 500;

}  // namespace

DrawnIteration::DrawnIteration(int ranks, std::uint64_t pass)
    : pass_(pass), ranks_(static_cast<std::size_t>(std::min(ranks, max_drawn_ranks))) {}

void DrawnIteration::add(int rank, DrawnSpan span) {
    Rank& of = ranks_[static_cast<std::size_t>(rank)];
    if (of.begin == simulate::never) return;
    span.rank = rank;
    span.begin = std::max(span.begin, of.begin);
    span.end = std::min(span.end, of.end);
    if (span.begin >= span.end) return;
    if (span.what != DrawnSpan::What::flight) {
        const auto last = std::find_if(of.spans.rbegin(), of.spans.rend(), [](const DrawnSpan& one) {
            return one.what != DrawnSpan::What::flight;
        });
        if (last != of.spans.rend() && last->what == span.what && last->site == span.site &&
            last->end == span.begin) {
            last->end = span.end;
            return;
        }
    }
    if (of.spans.size() < max_spans_of_a_rank) of.spans.push_back(span);
}

void DrawnIteration::called(int rank, int site, simulate::Time begin, simulate::Time left,
                            simulate::Time end) {
    if (rank >= static_cast<int>(ranks_.size())) return;
    add(rank, {.what = DrawnSpan::What::call, .site = site, .begin = begin, .end = left});
    add(rank, {.what = DrawnSpan::What::compute, .begin = left, .end = end});
}

void DrawnIteration::started(int rank, int request, int site, simulate::Time begin) {
    if (rank < static_cast<int>(ranks_.size()))
        ranks_[static_cast<std::size_t>(rank)].flights[request] = {site, begin};
}

void DrawnIteration::completed(int rank, int request, simulate::Time end) {
    if (rank >= static_cast<int>(ranks_.size())) return;
    const auto& [site, begin] = ranks_[static_cast<std::size_t>(rank)].flights[request];
    add(rank, {.what = DrawnSpan::What::flight, .site = site, .begin = begin, .end = end});
}

void DrawnIteration::began_pass(int rank, simulate::Time begin) {
    if (rank >= static_cast<int>(ranks_.size())) return;
    Rank& of = ranks_[static_cast<std::size_t>(rank)];
    if (of.passes == pass_) of.begin = begin;
    if (of.passes == pass_ + 1) of.end = begin;
    ++of.passes;
}

std::vector<DrawnSpan> DrawnIteration::spans() const {
    std::vector<DrawnSpan> found;
    simulate::Time first = simulate::never;
    for (const Rank& rank : ranks_) first = std::min(first, rank.begin);
    for (const Rank& rank : ranks_) {
        std::vector<DrawnSpan> own;
        for (const DrawnSpan& span : rank.spans) {
            const auto encloses = [&](const DrawnSpan& other) {
                return other.what == DrawnSpan::What::call && other.site == span.site &&
                       other.begin <= span.begin && other.end >= span.end;
            };
            if (span.what == DrawnSpan::What::flight && std::ranges::any_of(rank.spans, encloses)) continue;
            own.push_back(span);
            own.back().begin -= first;
            own.back().end -= first;
        }
        std::ranges::stable_sort(own, {}, &DrawnSpan::begin);
        found.insert(found.end(), own.begin(), own.end());
    }
    return found;
}

}  // namespace lapwing::tool
