#include "lapwing/profile/analysis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <tuple>

#include "lapwing/common/linked_symbols.hpp"
#include "watch/symbols.hpp"

namespace lapwing::tool {
namespace {

using Json = nlohmann::ordered_json;
using trace::Event;
using trace::What;

// One rank's part of one collective, in nanoseconds of rank 0's clock.
struct Visit {
    const RankPart* part = nullptr;
    const Json* site = nullptr;
    const Json* completing = nullptr;  // where it was completed
    bool nonblocking = false;
    bool gives = false;  // as the root
    bool takes = false;
    const Json* group = nullptr;  // of an intercommunicator: this rank's
    std::uint64_t bytes = 0;
    double began = 0;
    double ended = 0;
    double started = 0;  // nonblocking: when the call that starts returned
    double inside = 0;   // of completing calls; of one that completes several collectives, a share
    double away = 0;     // nonblocking: outside of calls of collectives, until it was complete
};

// The ranks of a communicator meet in its n-th collective.
struct Meeting {
    std::map<int, Visit> visits;  // by rank of the job
    std::size_t ranks = 0;
    bool between_groups = false;  // on an intercommunicator
};

// The members, of an intercommunicator those of both groups; which of these; number.
using Key = std::tuple<std::set<std::string>, std::uint64_t, std::uint32_t>;

void add_visits(const RankPart& part, std::map<Key, Meeting>& meetings) {
    const auto site = [&](std::uint64_t number) {
        const auto found = part.sites.find(number);
        return found == part.sites.end() ? nullptr : &found->second;
    };
    for (const Event& event : part.events) {
        const auto group = part.groups.find(static_cast<std::uint64_t>(event.peer));
        if (group == part.groups.end()) continue;
        const Json& about = group->second;
        const Json& members = about.at("members");
        const Json& remote = about.at("remote");
        Meeting& meeting = meetings[Key({members.dump(), (remote.empty() ? members : remote).dump()},
                                        about.at("agreed").get<std::uint64_t>(), event.operation)];
        meeting.ranks = members.size() + remote.size();
        meeting.between_groups = !remote.empty();
        Visit& visit = meeting.visits[part.rank];
        visit.part = &part;
        visit.group = &members;
        if (event.what == What::collective) {
            visit.site = site(event.index);
            visit.nonblocking = (event.kind & 1) != 0;
            visit.gives = (event.kind & 2) != 0;
            visit.takes = (event.kind & 4) != 0;
            visit.bytes = event.bytes;
            visit.began = part.aligned(event.began);
            visit.ended = part.aligned(event.ended);
        } else if (event.what == What::call) {
            visit.completing = site(event.index);
            visit.inside = static_cast<double>(event.ended - event.began);
            visit.away = static_cast<double>(event.bytes);
            visit.started = part.aligned(event.began);
        }
    }
}

// When the last of those had begun whom this visit may have waited for: of a collective with a root, that of
// the root; for the root, all that it takes from, and nobody when it gives. On an intercommunicator the data
// come from the other group.
double last_beginning(const Meeting& meeting, const Visit& visit) {
    double last = 0;
    if (visit.gives) return visit.began;
    for (const auto& [rank, other] : meeting.visits) {
        if ((other.gives || other.takes) && !visit.takes) return other.began;
        if (meeting.between_groups && *other.group == *visit.group) continue;
        last = std::max(last, other.began);
    }
    return last;
}

std::string text(const Json& json, const char* key) {
    return json.value(key, "");
}

// The same place of a program is another number on each rank.
std::string identity(const Json& site) {
    return fmt::format("{} {} {:#x}", text(site, "function"), text(site, "module"),
                       site.value("offset", std::uint64_t{0}));
}

CodeLocation location_of(const Json& site, watch::Symbols& symbols) {
    const std::string module = text(site, "module");
    const std::uint64_t offset = site.value("offset", std::uint64_t{0});
    const watch::Symbol found = symbols.find(module, offset);
    // "symbol": the function's name, if the module exports it.
    return {module, offset, found.function.empty() ? text(site, "symbol") : found.function, found.file,
            found.line};
}

// Nanoseconds become seconds, and sums become means over the ranks.
void finish(CallSite& site, int ranks) {
    for (double* seconds : {&site.start, &site.wait, &site.away, &site.late, &site.own, &site.saved_at_once,
                            &site.saved_if_moved}) {
        *seconds *= 1e-9 / std::max(1, ranks);
    }
}

// Adds what one rank has recorded of its messages, by the identity of their sites.
void add_messages(const RankPart& part, watch::Symbols& symbols, std::map<std::string, CallSite>& messages) {
    for (const Json& fact : part.messages) {
        const auto known = part.sites.find(fact.at("site").get<std::uint64_t>());
        if (known == part.sites.end()) continue;
        const auto [found, added] = messages.try_emplace(identity(known->second));
        CallSite& site = found->second;
        if (added) {
            site.function = text(known->second, "function");
            site.place = location_of(known->second, symbols);
            site.min_bytes = UINT64_MAX;
        }
        ++site.ranks;
        const auto completed = part.sites.find(fact.at("completed_at").get<std::uint64_t>());
        if (completed != part.sites.end()) {
            site.nonblocking = true;
            if (site.completed_at.empty()) site.completed_at = location_of(completed->second, symbols).text();
        }
        site.min_bytes = std::min(site.min_bytes, fact.at("bytes").at(0).get<std::uint64_t>());
        site.max_bytes = std::max(site.max_bytes, fact.at("bytes").at(1).get<std::uint64_t>());
        site.calls += fact.at("calls").get<std::uint64_t>();
        site.start += fact.at("start").get<double>();
        site.wait += fact.at("wait").get<double>();
        site.saved_at_once += fact.at("saved").get<double>();
        site.own = site.start + site.wait;
    }
}

// From MPI_Init to MPI_Finalize, or to the last that is known of a rank that did not come there.
double seconds_of(const RankPart& part) {
    if (part.clocks.empty()) return 0;
    const auto begin = part.clocks.front().at("at").get<std::uint64_t>();
    std::uint64_t end = part.clocks.back().at("at").get<std::uint64_t>();
    for (const Event& event : part.events) {
        if (event.what == What::collective) end = std::max(end, event.ended);
    }
    return static_cast<double>(end - begin) * 1e-9;
}

// `taken`: Lapwing takes such collectives.
void add(CallSite& site, const Visit& visit, double last, bool taken) {
    const double start = std::max(0.0, (visit.nonblocking ? visit.started : visit.ended) - visit.began);
    const double spent = start + visit.inside;
    const double away = visit.nonblocking ? visit.away : 0;
    // What the rank spent in its calls before the last one had begun, it spent waiting for that one. Where it
    // was away meanwhile, it waited less.
    const double before = std::clamp(last - visit.began, 0.0, visit.ended - visit.began);
    const double late = std::max(0.0, std::min(spent, before - away));
    const double own = spent - late;
    const double in_wait = std::min(own, visit.inside);
    site.start += start;
    site.wait += visit.inside;
    site.away += away;
    site.late += late;
    site.own += own;
    if (!taken) return;
    if (visit.nonblocking) {
        const double hidden = std::min(in_wait, away);
        site.saved_at_once += hidden;
        site.saved_if_moved += in_wait - hidden;
    } else {
        site.saved_if_moved += own;
    }
}

}  // namespace

std::string CodeLocation::text() const {
    const auto short_name = [](const std::string& path) {
        return std::filesystem::path(path).filename().string();
    };
    if (!file.empty())
        return fmt::format("{}:{}{}", short_name(file), line,
                           symbol.empty() ? "" : fmt::format(" ({})", symbol));
    if (!symbol.empty()) return fmt::format("{} in {}+{:#x}", symbol, short_name(module), offset);
    return module.empty() ? "an unknown location" : fmt::format("{}+{:#x}", short_name(module), offset);
}

Profile analyse(const std::vector<RankPart>& parts) {
    Profile profile;
    std::map<Key, Meeting> meetings;
    watch::Symbols symbols = linked_symbols();
    std::map<std::string, CallSite> messages;
    for (const RankPart& part : parts) {
        add_visits(part, meetings);
        add_messages(part, symbols, messages);
        profile.dropped += part.dropped;
        profile.clock_error = std::max(profile.clock_error, static_cast<double>(part.clock_error()) * 1e-9);
        if (!part.ended) profile.without_end.push_back(part.rank);
        profile.seconds += seconds_of(part) / static_cast<double>(parts.size());
    }
    if (!parts.empty()) profile.ranks = parts[0].about.value("ranks", 0);

    struct Found {
        CallSite site;
        std::set<int> ranks;
        std::set<std::string> completed_at;
        std::uint64_t visits = 0;
    };
    std::map<std::string, Found> found;
    for (const auto& [key, meeting] : meetings) {
        const bool whole = meeting.visits.size() == meeting.ranks &&
                           std::all_of(meeting.visits.begin(), meeting.visits.end(),
                                       [](const auto& visit) { return visit.second.site != nullptr; });
        if (!whole) {
            ++profile.unmatched;
            continue;
        }
        for (const auto& [rank, visit] : meeting.visits) {
            Found& at = found[identity(*visit.site)];
            CallSite& site = at.site;
            if (at.visits++ == 0) {
                site.function = text(*visit.site, "function");
                site.place = location_of(*visit.site, symbols);
                site.nonblocking = visit.nonblocking;
                site.ranks = static_cast<int>(meeting.ranks);
                site.min_bytes = visit.bytes;
            }
            if (site.ranks != static_cast<int>(meeting.ranks)) site.ranks = 0;
            site.min_bytes = std::min(site.min_bytes, visit.bytes);
            site.max_bytes = std::max(site.max_bytes, visit.bytes);
            at.ranks.insert(visit.part->rank);
            if (visit.completing != nullptr) {
                at.completed_at.insert(identity(*visit.completing));
                if (site.completed_at.empty())
                    site.completed_at = location_of(*visit.completing, symbols).text();
            }
            add(site, visit, last_beginning(meeting, visit), !meeting.between_groups);
        }
    }
    for (auto& [identity, at] : found) {
        CallSite& site = at.site;
        site.calls = at.visits / std::max<std::size_t>(1, at.ranks.size());
        if (at.completed_at.size() > 1) site.completed_at += " and elsewhere";
        finish(site, profile.ranks);
        profile.in_collectives += site.start + site.wait;
        profile.sites.push_back(site);
    }
    std::stable_sort(profile.sites.begin(), profile.sites.end(), [](const CallSite& a, const CallSite& b) {
        return a.saved_at_once + a.saved_if_moved > b.saved_at_once + b.saved_if_moved;
    });
    for (auto& [identity, site] : messages) {
        profile.messages.push_back(site);
    }
    std::ranges::stable_sort(profile.messages, std::greater<>(), &CallSite::own);
    for (CallSite& site : profile.messages) {
        site.calls /= static_cast<std::uint64_t>(site.ranks);
        finish(site, site.ranks);
    }
    return profile;
}

}  // namespace lapwing::tool
