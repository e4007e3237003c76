#include "simulate/recorded/sizes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "base/error.hpp"
#include "simulate/recorded/halo.hpp"
#include "simulate/recorded/layout.hpp"
#include "simulate/recorded/roles.hpp"
#include "simulate/recorded/sets.hpp"

namespace lapwing::simulate {
namespace {

[[noreturn]] void refuse_sizes(const std::string& why) {
    throw Error(ErrorCode::unsupported, "the recordings: " + why);
}

class Extrapolator {
  public:
    Extrapolator(std::span<const Replay> recordings, int ranks) : ranks_(ranks) {
        std::vector<std::size_t> order(recordings.size());
        std::iota(order.begin(), order.end(), 0);
        std::sort(order.begin(), order.end(),
                  [&](std::size_t a, std::size_t b) { return recordings[a].ranks < recordings[b].ranks; });
        for (const std::size_t i : order) {
            if (!by_size_.empty() && by_size_.back()->ranks == recordings[i].ranks) {
                refuse_sizes(fmt::format("two have {} ranks", recordings[i].ranks));
            }
            by_size_.push_back(&recordings[i]);
        }
        if (by_size_.size() < 2) refuse_sizes("other numbers of ranks need two or more");
    }

    Extrapolation extrapolate() {
        join_sites();
        find_classes();
        found_.growths = fit_sites(by_size_, sites_, static_cast<int>(all_sites_.size()));
        for (std::size_t i = 0; i < classes_.size(); ++i) find_rules(i);
        join_left_out();
        found_.smallest = write(&Growth::min_factor);
        found_.largest = write(&Growth::max_factor);
        found_.expected = write(&Growth::factor);
        return std::move(found_);
    }

  private:
    // All ranks of all recordings with one sequence of calls.
    struct Member {
        const Replay* recording = nullptr;
        std::size_t index = 0;  // of the recording, by size
        int rank = 0;

        const std::vector<Action>& script() const {
            return recording->scripts.of_ranks[static_cast<std::size_t>(rank)];
        }
    };
    struct Class {
        std::vector<Member> members;
        std::vector<Member> templates;  // those of the largest recording that has any
        std::vector<std::optional<PeerRule>> peers;
        std::vector<std::optional<GroupRule>> groups;
        std::vector<bool> same_tag;
        std::vector<int> times;
    };

    // A class that the largest recording lacks has no rules.
    bool is_whole(const Class& one) const { return one.templates.back().index + 1 == by_size_.size(); }
    const Replay& largest() const { return *by_size_.back(); }

    void join_sites() {
        std::map<std::tuple<std::string, std::string, std::uint64_t>, int> known;
        for (const Replay* recording : by_size_) {
            std::vector<int>& own = sites_.emplace_back();
            for (const ReplaySite& site : recording->sites) {
                const auto [found, fresh] = known.try_emplace(
                    {site.of.function, site.of.module, site.of.offset}, static_cast<int>(all_sites_.size()));
                if (fresh) all_sites_.push_back({.of = site.of});
                own.push_back(found->second);
            }
        }
    }
    int site(const Member& member, const Action& action) const {
        return sites_[member.index][static_cast<std::size_t>(action.site)];
    }

    void find_classes() {
        std::map<CallSequence, int> known;
        std::vector<CallSequence> sequences;
        std::vector<Cast> casts;
        for (std::size_t index = 0; index < by_size_.size(); ++index) {
            Cast& cast = casts.emplace_back();
            for (int rank = 0; rank < by_size_[index]->ranks; ++rank) {
                const Member member{by_size_[index], index, rank};
                CallSequence sequence;
                for (const Action& action : member.script())
                    sequence.emplace_back(action.kind, site(member, action));
                const auto [found, fresh] = known.try_emplace(sequence, static_cast<int>(classes_.size()));
                if (fresh) {
                    classes_.emplace_back();
                    sequences.push_back(std::move(sequence));
                }
                Class& one = classes_[static_cast<std::size_t>(found->second)];
                one.members.push_back(member);
                if (!one.templates.empty() && one.templates.back().index != index) one.templates.clear();
                one.templates.push_back(member);
                cast.push_back(found->second);
            }
        }
        role_of_ = find_roles(casts, ranks_);
        if (role_of_.empty()) refuse_sizes(first_difference(sequences, casts, all_sites_));
    }

    void find_rules(std::size_t number) {
        Class& one = classes_[number];
        if (!is_whole(one)) return;
        const std::vector<Action>& script = one.templates.front().script();
        one.peers.resize(script.size());
        one.groups.resize(script.size());
        one.same_tag.assign(script.size(), true);
        one.times.resize(script.size());
        for (std::size_t i = 0; i < script.size(); ++i) {
            if (script[i].kind == Action::Kind::repeat) one.times[i] = times_of(one, i);
            if (script[i].kind == Action::Kind::send || script[i].kind == Action::Kind::receive)
                find_peers(one, i);
            if (script[i].kind == Action::Kind::start) find_group(one, i);
        }
    }

    int times_of(const Class& one, std::size_t at) const {
        std::map<int, std::pair<double, double>> sums;
        for (const Member& member : one.members) {
            auto& [sum, count] = sums[member.recording->ranks];
            sum += member.script()[at].times;
            count += 1;
        }
        std::vector<std::pair<double, double>> values;
        for (const auto& [ranks, sum] : sums) values.emplace_back(ranks, sum.first / sum.second);
        return std::max(
            1, static_cast<int>(std::lround(values.back().second *
                                            fit_growth(values).factor(values.back().first, ranks_))));
    }

    void find_peers(Class& one, std::size_t at) {
        std::vector<Pairing> pairings;
        for (const Member& member : one.members) {
            const Action& action = member.script()[at];
            if (action.peer >= 0) pairings.push_back({member.rank, action.peer, member.recording->ranks});
            one.same_tag[at] = one.same_tag[at] && action.tag == one.members.front().script()[at].tag;
        }
        for (const Member& member : one.templates) {
            contexts_.join(member.script()[at].context, one.templates.front().script()[at].context);
        }
        if (pairings.empty()) return;  // from any source
        one.peers[at] = find_peer_rule(pairings);
        if (!one.peers[at]) {
            leave_out(site(one.templates.front(), one.templates.front().script()[at]),
                      "its peers follow no known rule");
            lost_contexts_.insert(one.templates.front().script()[at].context);
        }
    }

    void find_group(Class& one, std::size_t at) {
        std::vector<Membership> memberships;
        std::vector<std::vector<std::int32_t>> lists;
        lists.reserve(one.members.size());
        for (const Member& member : one.members) {
            const Replay& of = *member.recording;
            const ReplayOperation& operation =
                of.operations[static_cast<std::size_t>(member.script()[at].operation)];
            const Communicator& communicator =
                of.scripts.communicators[static_cast<std::size_t>(operation.communicator)];
            std::vector<std::int32_t>& ranks = lists.emplace_back();
            for (int i = 0; i < communicator.size(); ++i) ranks.push_back(communicator.rank(i));
            memberships.push_back({member.rank, &ranks, of.ranks});
        }
        const int first = one.templates.front().script()[at].operation;
        for (const Member& member : one.templates) {
            const int operation = member.script()[at].operation;
            operations_.join(operation, first);
            const std::vector<ReplayOperation>& all = one.templates.front().recording->operations;
            communicators_.join(all[static_cast<std::size_t>(operation)].communicator,
                                all[static_cast<std::size_t>(first)].communicator);
        }
        one.groups[at] = find_group_rule(memberships);
        const ReplayOperation& operation =
            one.templates.front().recording->operations[static_cast<std::size_t>(first)];
        const bool sparse = has_neighbors(operation.problem.collective) || is_sparse(operation.problem);
        if (sparse && one.groups[at] && one.groups[at]->kind == GroupRule::Kind::world)
            find_halo(one, at, first);
        if (one.groups[at] && (!sparse || halos_.contains(first))) return;
        leave_out(
            site(one.templates.front(), one.templates.front().script()[at]),
            sparse ? "its neighbours are not those of a grid" : "its communicator follows no known rule");
        lost_operations_.insert(first);
    }

    void find_halo(const Class& one, std::size_t at, int operation) {
        const int dimensions =
            one.templates.front().recording->operations[static_cast<std::size_t>(operation)].dimensions;
        std::vector<const Problem*> problems;
        for (const Member& member : one.members) {
            const Problem& problem =
                member.recording->operations[static_cast<std::size_t>(member.script()[at].operation)].problem;
            if (std::find(problems.begin(), problems.end(), &problem) == problems.end())
                problems.push_back(&problem);
        }
        if (const auto rule = find_halo_rule(problems, dimensions)) halos_.emplace(operation, *rule);
    }

    static bool is_sparse(const Problem& problem) {
        if (problem.collective != Collective::alltoallv) return false;
        std::size_t blocks = 0;
        std::size_t empty = 0;
        for (const Parts& parts : problem.parts) {
            for (const Part& part : parts.sends) {
                ++blocks;
                if (part.bytes == 0) ++empty;
            }
        }
        return 2 * empty > blocks;
    }

    void leave_out(int site, const char* why) {
        for (const LeftOut& one : found_.left_out) {
            if (one.site == site) return;
        }
        found_.left_out.push_back({site, why, 0});
    }

    // Leaves out what belongs to a call that is left out.
    void join_left_out() {
        for (const Class& one : classes_) {
            const Member& member = one.templates.front();
            for (const Action& action : member.script()) {
                if (is_whole(one) && is_lost(action))
                    leave_out(site(member, action), "it belongs to a call that is left out");
            }
        }
        Time all = 0;
        for (const Time end : largest().ends) all += end;
        for (LeftOut& one : found_.left_out) {
            for (std::size_t i = 0; i < largest().sites.size(); ++i) {
                if (sites_.back()[i] == one.site && all > 0) {
                    one.share += static_cast<double>(largest().sites[i].inside) / static_cast<double>(all);
                }
            }
        }
    }

    bool is_lost(const Action& action) {
        const auto has = [](const std::set<int>& lost, Sets& sets, int one) {
            return std::any_of(lost.begin(), lost.end(),
                               [&](int other) { return sets.find(other) == sets.find(one); });
        };
        if (action.kind == Action::Kind::start) return has(lost_operations_, operations_, action.operation);
        const bool message = action.kind == Action::Kind::send || action.kind == Action::Kind::receive;
        return message && has(lost_contexts_, contexts_, action.context);
    }

    using Factor = double (Growth::*)(double, double) const;

    Replay write(Factor factor) {
        factor_ = factor;
        written_ = {};
        written_.ranks = ranks_;
        written_.sites = all_sites_;
        written_.hosts = hosts();
        written_.notes = largest().notes;
        messages_.clear();
        bytes_.clear();
        collectives_.clear();
        Scripts& scripts = written_.scripts;
        scripts.sites = static_cast<int>(all_sites_.size());
        std::map<std::pair<int, int>, int> communicators;  // by the recorded one, and the first rank
        for (int rank = 0; rank < ranks_; ++rank) {
            const Class& one = classes_[static_cast<std::size_t>(role_of_[static_cast<std::size_t>(rank)])];
            const Member& member = one.templates[static_cast<std::size_t>(rank) % one.templates.size()];
            std::vector<Action>& script = scripts.of_ranks.emplace_back();
            for (std::size_t i = 0; i < member.script().size(); ++i) {
                Action action = member.script()[i];
                if (is_lost(action)) continue;
                action.site = site(member, action);
                const SiteGrowth& growth = found_.growths[static_cast<std::size_t>(action.site)];
                switch (action.kind) {
                    case Action::Kind::compute:
                        action.work = static_cast<Time>(static_cast<double>(action.work) *
                                                        scaled(growth.computing, member));
                        break;
                    case Action::Kind::repeat:
                        action.times = one.times[i];
                        break;
                    case Action::Kind::send:
                    case Action::Kind::receive:
                        if (one.peers[i]) action.peer = one.peers[i]->peer(rank, ranks_);
                        if (action.peer >= ranks_ || (one.peers[i] && action.peer < 0)) continue;
                        action.context = contexts_.find(action.context);
                        if (!one.same_tag[i]) action.tag = action.kind == Action::Kind::send ? 0 : -1;
                        action.operation = message(member, member.script()[i], scaled(growth.bytes, member));
                        break;
                    case Action::Kind::start: {
                        const GroupRule& rule = *one.groups[i];
                        const int recorded = communicators_.find(
                            member.recording->operations[static_cast<std::size_t>(action.operation)]
                                .communicator);
                        const auto [found, fresh] =
                            communicators.try_emplace({recorded, rule.first(rank, ranks_)},
                                                      static_cast<int>(scripts.communicators.size()));
                        if (fresh) scripts.communicators.emplace_back(rule.members(rank, ranks_));
                        action.operation =
                            collective(member, action.operation, found->second,
                                       scripts.communicators[static_cast<std::size_t>(found->second)].size(),
                                       scaled(growth.bytes, member));
                        break;
                    }
                    default:
                        break;
                }
                script.push_back(action);
            }
            count(script);
        }
        return std::move(written_);
    }

    // As many ranks on each host as in the largest recording, in order.
    std::vector<std::string> hosts() const {
        std::map<std::string, int> counts;
        int most = 1;
        for (const std::string& host : largest().hosts) most = std::max(most, ++counts[host]);
        std::vector<std::string> names;
        for (int rank = 0; rank < ranks_; ++rank) names.push_back(std::to_string(rank / most));
        return names;
    }

    void count(const std::vector<Action>& script) {
        // Each operation has many actions, and some have the blocks of all ranks.
        while (bytes_.size() < written_.operations.size()) {
            bytes_.push_back(static_cast<double>(bytes_of(written_.operations[bytes_.size()])));
        }
        each_action(script, [&](const Action& action, double times) {
            if (action.kind == Action::Kind::compute || action.kind == Action::Kind::repeat ||
                action.kind == Action::Kind::end)
                return;
            ReplaySite& own = written_.sites[static_cast<std::size_t>(action.site)];
            const bool starts = action.kind == Action::Kind::start || action.kind == Action::Kind::send;
            if (starts || action.kind == Action::Kind::call) own.calls += static_cast<std::uint64_t>(times);
            if (!starts) return;
            own.bytes +=
                static_cast<std::uint64_t>(times * bytes_[static_cast<std::size_t>(action.operation)]);
        });
    }

    double scaled(const Growth& growth, const Member& member) const {
        return (growth.*factor_)(member.recording->ranks, ranks_);
    }

    int message(const Member& member, const Action& action, double factor) {
        const ReplayOperation& recorded =
            member.recording->operations[static_cast<std::size_t>(action.operation)];
        const auto bytes =
            static_cast<std::uint64_t>(std::llround(static_cast<double>(recorded.bytes) * factor));
        const auto [found, fresh] = messages_.try_emplace({bytes, recorded.synchronous},
                                                          static_cast<int>(written_.operations.size()));
        if (fresh) written_.operations.push_back({.bytes = bytes, .synchronous = recorded.synchronous});
        return found->second;
    }

    // Blocks of different lengths have their average.
    static Collective with_equal_blocks(Collective collective) {
        switch (collective) {
            case Collective::gatherv:
                return Collective::gather;
            case Collective::scatterv:
                return Collective::scatter;
            case Collective::allgatherv:
                return Collective::allgather;
            case Collective::alltoallv:
                return Collective::alltoall;
            case Collective::reduce_scatter:
                return Collective::reduce_scatter_block;
            default:
                return collective;
        }
    }

    int collective(const Member& member, int operation, int communicator, int size, double factor) {
        const int set = operations_.find(operation);
        const auto [found, fresh] =
            collectives_.try_emplace({set, communicator}, static_cast<int>(written_.operations.size()));
        if (!fresh) return found->second;
        const ReplayOperation& recorded = member.recording->operations[static_cast<std::size_t>(set)];
        const auto halo = halos_.find(operation);
        if (halo != halos_.end()) {
            written_.operations.push_back({.problem = halo->second.problem(recorded.problem, size, factor),
                                           .communicator = communicator,
                                           .blocking = recorded.blocking});
            return found->second;
        }
        Problem problem = recorded.problem;
        problem.collective = with_equal_blocks(problem.collective);
        problem.parts.clear();
        problem.root = problem.root == problem.ranks - 1 && problem.root > 0
                           ? size - 1
                           : std::min(problem.root, size - 1);
        problem.ranks = size;
        problem.bytes =
            static_cast<std::uint64_t>(std::llround(static_cast<double>(bytes_of(recorded)) * factor));
        if (is_reduction(problem.collective)) {
            problem.bytes = (problem.bytes + problem.element_bytes() - 1) / problem.element_bytes() *
                            problem.element_bytes();
        }
        written_.operations.push_back(
            {.problem = problem, .communicator = communicator, .blocking = recorded.blocking});
        return found->second;
    }

    const int ranks_;
    std::vector<const Replay*> by_size_;
    std::vector<ReplaySite> all_sites_;    // of all recordings, without times
    std::vector<std::vector<int>> sites_;  // by recording: from its sites to those of all
    std::vector<Class> classes_;
    std::vector<int> role_of_;  // the class of each rank of the prediction
    // Of the largest recording.
    Sets contexts_;
    Sets operations_;
    Sets communicators_;
    std::map<int, HaloRule> halos_;  // of operations
    std::set<int> lost_contexts_;
    std::set<int> lost_operations_;
    // Of the scripts that are written.
    Factor factor_ = nullptr;
    Replay written_;
    std::vector<double> bytes_;  // of its operations
    std::map<std::pair<std::uint64_t, bool>, int> messages_;
    std::map<std::pair<int, int>, int> collectives_;
    Extrapolation found_;
};

}  // namespace

Extrapolation extrapolate(std::span<const Replay> recordings, int ranks) {
    return Extrapolator(recordings, ranks).extrapolate();
}

}  // namespace lapwing::simulate
