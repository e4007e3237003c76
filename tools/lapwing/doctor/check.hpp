// A check of `lapwing doctor`: facts that are read on each host, a line that shows them, and a judgement of
// all hosts' facts together.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/settings.hpp"
#include "job/settings.hpp"
#include "lapwing/doctor/findings.hpp"
#include "lapwing/mpi/family.hpp"

namespace lapwing::tool {

using Facts = nlohmann::json;

struct RankReport {
    int rank = -1;      // -1: the launcher does not tell its ranks
    Facts settings;     // variables LAPWING_* of this rank, by name
    std::string wrong;  // with one of them
};

struct HostReport {
    std::uint64_t number = 0;
    std::string name;
    std::vector<RankReport> ranks;
    Facts facts;  // by check

    const Facts* find(const char* check) const {
        const auto found = facts.find(check);
        return found == facts.end() ? nullptr : &*found;
    }
};

struct JobReport {
    const MpiFamily* family = nullptr;
    Settings settings;        // that all ranks shall have
    NetworkSettings network;  // what these say
    int ranks = 0;            // of the job; 0: the launcher does not tell
    std::vector<HostReport> hosts;

    bool several_hosts() const { return hosts.size() > 1; }
    bool wants_engine(const std::string& engine) const {
        return settings.engine == engine || (settings.engine == "auto" && several_hosts());
    }
    // Whether a progress thread would run lists between hosts where no engine does so by itself.
    bool has_thread_between_hosts() const {
        return several_hosts() && network.network != "mpi" && network.may_have_progress_thread();
    }
};

struct Check {
    const char* name;   // of the facts
    const char* title;  // of the line in the table
    // On a host. May throw Error: the message takes the facts' place.
    Facts (*facts)(const MpiFamily& family);
    // For the table: what most hosts have in common is one line there. Empty: nothing to show.
    std::string (*line)(const Facts& facts);
    // Of all hosts that have such facts.
    void (*judge)(const JobReport& job, Findings& findings);
};

// In the order of the table: catalogue.def.
std::span<const Check* const> host_checks();

// HostReports by what `value` makes of their facts of a check, the most frequent value first; those without
// facts are left out.
using HostReports = std::vector<const HostReport*>;
std::vector<std::pair<std::string, HostReports>> hosts_by(
    const JobReport& job, const char* check, const std::function<std::string(const Facts&)>& value);
// "node1, node2 and 7 more"
std::string names_of(const HostReports& hosts);
// A finding when a value is not the same on all hosts. `what`: "the tuning file", `advice`: what to do.
void judge_equal(const JobReport& job, const char* check,
                 const std::function<std::string(const Facts&)>& value, Severity severity, const char* layer,
                 const std::string& what, const std::string& advice, Findings& findings);

}  // namespace lapwing::tool
