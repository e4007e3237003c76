// A check of `lapwing doctor`: reads facts on each host, prints them as a line, and judges the facts of all
// hosts together.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/settings.hpp"
#include "job/settings.hpp"
#include "lapwing/mpi/family.hpp"

namespace lapwing::tool {

enum class Severity {
    problem,  // Lapwing cannot work, or cannot overlap
    hint,     // anything else worth knowing
};

struct Finding {
    Severity severity = Severity::hint;
    std::string layer;   // "launcher", "host", "network", "MPI", "Lapwing"
    std::string where;   // "node2", "node1 to node3"; empty: everywhere
    std::string what;    // a sentence without its full stop
    std::string advice;  // what to do
};

class Findings {
  public:
    void add(Finding finding) { all_.push_back(std::move(finding)); }
    bool any(Severity severity) const;
    // "problems\n  node2: ...\n    advice\n"; empty without findings.
    std::string print(Severity severity, std::size_t width) const;
    nlohmann::ordered_json as_json(Severity severity) const;

  private:
    std::vector<Finding> all_;
};

using Facts = nlohmann::json;

struct RankReport {
    int rank = -1;      // -1: the launcher does not number its ranks
    Facts settings;     // variables LAPWING_* of this rank, by name
    std::string wrong;  // the error in one of them; or empty
};

struct HostReport {
    std::uint64_t number = 0;
    std::string name;
    std::vector<RankReport> ranks;
    Facts facts;  // by check

    // Returns an empty object if the host has not sent its facts.
    const Facts& of(const char* check) const {
        static const Facts none = Facts::object();
        const auto found = facts.find(check);
        return found == facts.end() ? none : *found;
    }
};

struct JobReport {
    const MpiFamily* family = nullptr;
    Settings settings;        // that all ranks must have
    NetworkSettings network;  // parsed from settings
    int ranks = 0;            // of the job; 0: the launcher does not give the number
    std::vector<HostReport> hosts;

    bool several_hosts() const { return hosts.size() > 1; }
    bool wants_engine(const std::string& engine) const {
        return settings.engine == engine || (settings.engine == "auto" && several_hosts());
    }
    // Whether a progress thread would run lists between hosts if no engine runs them by itself.
    bool has_thread_between_hosts() const {
        return several_hosts() && network.network != "mpi" && network.may_have_progress_thread();
    }
};

struct Check {
    const char* name;   // of the facts
    const char* title;  // of the line in the table
    // Called on a host. May throw Error; the report then has the message instead of facts.
    Facts (*facts)(const MpiFamily& family);
    // The line of the table. Hosts with equal lines share one. Empty: nothing to show.
    std::string (*line)(const Facts& facts);
    // Judges the facts of all hosts that have them.
    void (*judge)(const JobReport& job, Findings& findings);
    // Of a host that has not sent its facts in time: a hint if Lapwing may run without what is checked.
    Severity without_facts = Severity::problem;
};

#define LAPWING_CHECK(name) extern const Check name##_check;
#include "lapwing/doctor/checks/catalogue.def"

// In the order of the table: catalogue.def.
std::span<const Check* const> host_checks();

// Hosts by a value, the most frequent value first. Leaves out hosts whose value is empty.
using HostReports = std::vector<const HostReport*>;
using HostGroups = std::vector<std::pair<std::string, HostReports>>;
// `values_of`: one value, or several of different ranks.
HostGroups group_hosts(const JobReport& job,
                       const std::function<std::vector<std::string>(const HostReport&)>& values_of);
// By a value of the facts of a check. Leaves out hosts without facts.
HostGroups hosts_by(const JobReport& job, const char* check,
                    const std::function<std::string(const Facts&)>& value);
// "node1, node2 and 7 more"
std::string list_names(const std::vector<std::string>& names);
std::string names_of(const HostReports& hosts);
// Adds a finding for each group but the first. `finding`: without the hosts; its `what` is the thing that
// should be equal, such as "the kernel". `text`: of this thing, its value, the first group's value and hosts.
void judge_equal(const HostGroups& groups, const Finding& finding, Findings& findings,
                 const char* text = "{} is {}, but {} on {}");
// Why an engine is unavailable, by the facts of the check "engines"; empty if it is available or not listed.
std::string why_unavailable(const Facts& facts, std::string_view engine);

}  // namespace lapwing::tool
