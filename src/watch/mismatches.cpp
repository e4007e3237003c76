#include "watch/mismatches.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "base/values.hpp"
#include "watch/calls.hpp"

namespace lapwing::watch {

namespace {

class Comparison {
  public:
    explicit Comparison(const JobView& job) : job_(job) {
        found_.first.resize(job.communicators.size(), never);
    }

    Mismatches run() {
        for (std::size_t i = 0; i < job_.communicators.size(); ++i) compare(static_cast<int>(i));
        return std::move(found_);
    }

  private:
    struct Record {
        std::uint64_t number;
        std::uint64_t hash;
        int rank;
        const CollectiveCall* call;
        std::size_t member = 0;  // the rank in the communicator
    };
    // The ranks that made the same call.
    struct Side {
        std::uint64_t hash = 0;
        const CollectiveCall* call = nullptr;
        std::vector<int> ranks;
    };

    void compare(int communicator) {
        const CommunicatorView& view = job_.communicators[static_cast<std::size_t>(communicator)];
        for (const CommunicatorSnapshot* const snapshot : view.snapshots) {
            if (snapshot != nullptr && !snapshot->comparable) return;
        }
        std::vector<Record> records;
        for (std::size_t member = 0; member < view.members.size(); ++member) {
            if (view.snapshots[member] == nullptr) continue;
            for (const CollectiveCall& call : view.snapshots[member]->recent)
                records.push_back({call.number, hash_of(call), view.members[member], &call, member});
        }
        std::ranges::stable_sort(records,
                                 [](const Record& a, const Record& b) { return a.number < b.number; });
        for (std::size_t i = 0; i < records.size();) {
            std::size_t end = i + 1;
            bool same = true;
            for (; end < records.size() && records[end].number == records[i].number; ++end)
                same = same && records[end].hash == records[i].hash;
            const std::span<const Record> of_call = std::span(records).subspan(i, end - i);
            if (!same) return report(communicator, of_call, std::span(records).subspan(end));
            if (compare_counts(communicator, of_call)) return;
            i = end;
        }
        compare_hashes(communicator);
    }

    static std::vector<Side> sides(std::span<const Record> records) {
        std::vector<Side> sides;
        std::unordered_map<std::uint64_t, std::size_t> known;
        for (const Record& record : records) {
            const auto [entry, added] = known.try_emplace(record.hash, sides.size());
            if (added) sides.push_back({record.hash, record.call, {}});
            sides[entry->second].ranks.push_back(record.rank);
        }
        for (Side& side : sides) std::ranges::sort(side.ranks);
        std::ranges::sort(sides, [](const Side& a, const Side& b) {
            return std::tuple(b.ranks.size(), a.ranks.front()) < std::tuple(a.ranks.size(), b.ranks.front());
        });
        return sides;
    }

    void add(int communicator, std::uint64_t number, const std::vector<Side>& all, std::string sentence) {
        Finding finding;
        finding.kind = Finding::Kind::mismatch;
        // Of two sides of equal size neither is the wrong one.
        const bool minority = all[0].ranks.size() > all[1].ranks.size();
        for (std::size_t i = minority ? 1 : 0; i < all.size(); ++i)
            finding.ranks.insert(finding.ranks.end(), all[i].ranks.begin(), all[i].ranks.end());
        std::ranges::sort(finding.ranks);
        for (const Wait& wait : job_.waits) {
            if (wait.kind == Wait::Kind::collective && wait.communicator == communicator &&
                wait.number >= number) {
                finding.age = std::max(finding.age, wait.age);
            }
        }
        finding.sentence = std::move(sentence);
        found_.findings.push_back(std::move(finding));
        found_.first[static_cast<std::size_t>(communicator)] = number;
    }

    // `next`: the records of later calls.
    void report(int communicator, std::span<const Record> records, std::span<const Record> next) {
        constexpr std::size_t max_shown = 4;
        const std::vector<Side> all = sides(records);
        std::string sentence;
        for (std::size_t i = 0; i < all.size() && i < max_shown; ++i) {
            sentence += fmt::format("{}{} called {}{}", i == 0 ? "" : "; ", ranks_in_words(all[i].ranks),
                                    describe(*all[i].call), at(all[i].call->where));
            if (i == 0)
                sentence += fmt::format(" as call {} on {}", all[i].call->number, job_.name(communicator));
        }
        if (all.size() > max_shown) sentence += "; " + counted(all.size() - max_shown, "other call");
        const Difference what = difference(*all[0].call, *all[1].call);
        sentence += fmt::format(": {}", watch::name(what));
        if (what == Difference::function) sentence += order(next, all[0], all[1]);
        add(communicator, records.front().number, all, std::move(sentence));
    }

    // Whether ranks disagree on the bytes of a transfer between them, in calls that are equal otherwise.
    // Names the ranks with which most ranks disagree.
    bool compare_counts(int communicator, std::span<const Record> records) {
        const std::size_t size = job_.communicators[static_cast<std::size_t>(communicator)].members.size();
        std::vector<int> disagreements(size);
        std::string sentence;
        for (const Record& sender : records) {
            const auto& sent = sender.call->arguments.sent;
            if (sent.size() != size) continue;
            for (const Record& receiver : records) {
                const auto& received = receiver.call->arguments.received;
                if (received.size() != size || sent[receiver.member] == received[sender.member]) continue;
                ++disagreements[sender.member];
                ++disagreements[receiver.member];
                if (!sentence.empty()) continue;
                sentence = fmt::format(
                    "rank {} sends {} to rank {} in {}{} (call {} on {}), but rank {} receives {} from rank "
                    "{}{}: the counts differ",
                    sender.rank, counted(sent[receiver.member], "byte"), receiver.rank, sender.call->function,
                    at(sender.call->where), sender.call->number, job_.name(communicator), receiver.rank,
                    counted(received[sender.member], "byte"), sender.rank, at(receiver.call->where));
            }
        }
        if (sentence.empty()) return false;
        const int most = *std::ranges::max_element(disagreements);
        std::vector<Side> sides(2);
        for (const Record& record : records)
            sides[disagreements[record.member] == most ? 1 : 0].ranks.push_back(record.rank);
        if (most > 1 && sides[1].ranks.size() == 1)
            sentence +=
                fmt::format("; {} disagrees about {} transfers", ranks_in_words(sides[1].ranks), most);
        add(communicator, records.front().number, sides, std::move(sentence));
        return true;
    }

    // What the next calls say about the order.
    static std::string order(std::span<const Record> next, const Side& major, const Side& minor) {
        bool minor_comes_next = false;
        bool major_comes_next = false;
        for (const Record& record : next) {
            if (record.number != major.call->number + 1) break;
            const auto of = [&record](const Side& side) {
                return std::ranges::binary_search(side.ranks, record.rank);
            };
            minor_comes_next = minor_comes_next || (of(major) && record.hash == minor.hash);
            major_comes_next = major_comes_next || (of(minor) && record.hash == major.hash);
        }
        if (minor_comes_next && major_comes_next) return "; the two calls have different orders";
        if (minor_comes_next)
            return fmt::format("; {} called it next, so {} may have left out a call",
                               ranks_in_words(major.ranks), ranks_in_words(minor.ranks));
        return "";
    }

    // The last calls are equal, but not all calls.
    void compare_hashes(int communicator) {
        const CommunicatorView& view = job_.communicators[static_cast<std::size_t>(communicator)];
        std::map<std::uint64_t, std::vector<Record>> by_calls;
        for (std::size_t member = 0; member < view.members.size(); ++member) {
            const CommunicatorSnapshot* const snapshot = view.snapshots[member];
            if (snapshot != nullptr && snapshot->calls > 0)
                by_calls[snapshot->calls].push_back(
                    {snapshot->calls, snapshot->hash, view.members[member], nullptr});
        }
        for (const auto& [calls, records] : by_calls) {
            const std::vector<Side> all = sides(records);
            if (all.size() < 2) continue;
            std::string sentence = fmt::format(
                "{} and {} made different calls on {}, among the first {} calls: the calls themselves are no "
                "longer recorded",
                ranks_in_words(all[0].ranks), ranks_in_words(all[1].ranks), view.name, calls);
            // Later calls match by chance only, and waits have their reason here.
            return add(communicator, 0, all, std::move(sentence));
        }
    }

    const JobView& job_;
    Mismatches found_;
};

}  // namespace

Mismatches find_mismatches(const JobView& job) {
    return Comparison(job).run();
}

std::vector<std::string> compare_at_end(std::span<const RankSnapshot> answers) {
    const JobView job(answers);
    const Mismatches mismatches = find_mismatches(job);
    std::vector<std::string> sentences;
    for (const Finding& finding : mismatches.findings) sentences.push_back(finding.sentence);
    for (std::size_t i = 0; i < job.communicators.size(); ++i) {
        const CommunicatorView& view = job.communicators[i];
        const bool comparable = std::ranges::all_of(
            view.snapshots, [](const auto* one) { return one == nullptr || one->comparable; });
        const std::size_t least = view.calls.empty() ? 0 : view.count_before(view.calls.back().first);
        if (!comparable || least == 0 || mismatches.first[i] != never) continue;
        const std::uint64_t fewest = view.calls.front().first;
        const std::uint64_t most = view.calls.back().first;
        std::vector<int> ranks;
        for (std::size_t one = 0; one < least; ++one) ranks.push_back(view.calls[one].second);
        std::ranges::sort(ranks);
        std::string sentence =
            fmt::format("{} called fewer collectives on {} than the other ranks: {} instead of {}",
                        ranks_in_words(ranks), view.name, fewest, most);
        for (std::size_t member = 0; member < view.members.size(); ++member) {
            if (const CollectiveCall* const call =
                    job.find(static_cast<int>(i), static_cast<int>(member), fewest + 1)) {
                sentence += fmt::format("; rank {} called {}{} as call {}", view.members[member],
                                        describe(*call), at(call->where), call->number);
                break;
            }
        }
        sentences.push_back(std::move(sentence));
    }
    return sentences;
}

}  // namespace lapwing::watch
