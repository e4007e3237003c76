#include "engines/triggered/engine.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/settings.hpp"
#include "base/values.hpp"
#include "engines/job.hpp"
#include "engines/triggered/demand.hpp"
#include "engines/triggered/group.hpp"
#include "engines/triggered/prepared.hpp"
#include "links/tcp/addresses.hpp"

namespace lapwing {
namespace {

class TriggeredGroupEngine final : public GroupEngine {
  public:
    TriggeredGroupEngine(DeferredWork& network, Link& messages, const triggered::GroupLimits& limits,
                         std::unique_ptr<Reservation> reserved, const JobFailure* failure)
        : reserved_(std::move(reserved)),
          group_(std::make_shared<triggered::Group>(network, messages, limits, failure)) {}
    bool needs_agreement() const override { return true; }
    Verdict admit(const Problem& problem, const ListOf& list_of, const ListUse& use) override {
        return group_->admit(problem, list_of, use.persistent);
    }
    std::unique_ptr<Prepared> prepare(const Problem&, List list, const ListUse& use) override {
        return std::make_unique<triggered::TriggeredPrepared>(list, group_, use.persistent);
    }

  private:
    const std::unique_ptr<Reservation> reserved_;
    const std::shared_ptr<triggered::Group> group_;  // prepared lists, which may outlive this, own it, too
};

DeferredWorkOptions read_options(const Settings& settings) {
    constexpr std::uint64_t max = 1U << 20;
    DeferredWorkOptions options;
    options.provider = settings.trigger_provider;
    if (settings.trigger_entries != "auto")
        options.entries = number_in("LAPWING_TRIGGER_ENTRIES", settings.trigger_entries, 1, max);
    if (settings.trigger_counters != "auto")
        options.counters = number_in("LAPWING_TRIGGER_COUNTERS", settings.trigger_counters, 1, max);
    options.interfaces = settings.tcp_interface;
    options.family = settings.tcp_family;
    return options;
}

std::uint64_t read_bytes(const Settings& settings) {
    return bytes_in("LAPWING_TRIGGER_BYTES", settings.trigger_bytes, 1, 1U << 30);
}

// The counters of one group.
class GroupCounters final : public Reservation {
  public:
    GroupCounters(DeferredWork& network, std::uint64_t count) : network_(network), count_(count) {}
    ~GroupCounters() override { network_.give_back_counters(count_); }

  private:
    DeferredWork& network_;
    const std::uint64_t count_;
};

class TriggeredJob final : public JobEngine {
  public:
    explicit TriggeredJob(Job& job) : job_(job), bytes_(read_bytes(job.settings())) {
        DeferredWorkOptions options = read_options(job.settings());
        const auto hosts = job.exchange_values(tcp::host_number());
        options.sharers = static_cast<int>(std::count(hosts.begin(), hosts.end(), tcp::host_number()));
        job.together([&] { network_ = open_deferred_work(options); });
        const std::array mine = {network_->entries(), network_->counters()};
        entries_ = mine[0];
        counters_ = mine[1];
        for (const auto& [entries, counters] : job.exchange_values(mine)) {
            entries_ = std::min(entries_, entries);
            counters_ = std::min(counters_, counters);
        }
        const std::uint64_t needed = counters_for(job.ranks());
        if (network_->reserve_counters(needed))
            of_all_ranks_ = std::make_unique<GroupCounters>(*network_, needed);
    }

    std::unique_ptr<Reservation> reserve(const std::vector<int>& members) override {
        const int ranks = static_cast<int>(members.size());
        if (of_all_ranks_ != nullptr) return std::move(of_all_ranks_);
        const std::uint64_t needed = counters_for(ranks);
        if (network_->reserve_counters(needed)) return std::make_unique<GroupCounters>(*network_, needed);
        if (!std::exchange(warned_, true)) {
            job_.warn(fmt::format(
                "rank {}: too few network counters: a group of {} ranks needs {} of {}, but fewer are "
                "free; the host engine runs the collectives of this group; raise LAPWING_TRIGGER_COUNTERS",
                job_.rank(), ranks, needed, network_->counters()));
        }
        return nullptr;
    }

    std::unique_ptr<GroupEngine> open(const EngineGroup& group,
                                      std::unique_ptr<Reservation> reserved) override {
        const int ranks = static_cast<int>(group.members.size());
        const triggered::GroupLimits limits = {{entries_, counters_once(ranks), bytes_},
                                               {entries_, counters_persistent(ranks), bytes_}};
        return std::make_unique<TriggeredGroupEngine>(*network_, *group.messages, limits, std::move(reserved),
                                                      &failure_);
    }
    void fail(const std::string& why) override { failure_.set(why); }

  private:
    // Four for each peer and some for runs in flight; but at most half of all that a process has.
    std::uint64_t counters_once(int ranks) const {
        constexpr std::uint64_t for_runs = 32;
        return std::min(4 * static_cast<std::uint64_t>(ranks - 1) + for_runs, counters_ / 2);
    }
    std::uint64_t counters_persistent(int ranks) const {
        constexpr std::uint64_t for_persistent = 32;
        return std::min(for_persistent, counters_ / 2 - counters_once(ranks));
    }
    std::uint64_t counters_for(int ranks) const { return counters_once(ranks) + counters_persistent(ranks); }

    Job& job_;
    const std::uint64_t bytes_;
    std::unique_ptr<DeferredWork> network_;
    std::uint64_t entries_ = 0;   // that each rank has
    std::uint64_t counters_ = 0;  // the same
    std::unique_ptr<Reservation> of_all_ranks_;
    bool warned_ = false;
    JobFailure failure_;
};

class TriggeredEngine final : public Engine {
  public:
    const char* name() const override { return "triggered"; }
    const char* summary() const override { return "experimental: the network, by libfabric's deferred work"; }
    Verdict available() const override {
        // Finding out takes an endpoint.
        static const std::string why = [] {
            try {
                DeferredWorkOptions options = read_options(read_settings(environ));
                options.entries = 1;  // how many there are is another question
                options.counters = 0;
                static_cast<void>(open_deferred_work(options));
                return std::string();
            } catch (const Error& error) {
                return std::string(error.what());
            }
        }();
        return why.empty() ? Verdict::yes() : Verdict::no(why.c_str());
    }
    bool only_by_name() const override { return true; }
    void check(const Settings& settings) const override {
        read_options(settings);
        read_bytes(settings);
    }
    std::vector<std::pair<std::string, std::string>> environment(const Settings& settings) const override {
        // libfabric reads it once per process. Otherwise its thread polls for 10 ms after each event, and
        // ranks that share processors wait for each other's threads.
        if (settings.trigger_provider == "sockets") return {{"FI_SOCKETS_PE_WAITTIME", "0"}};
        return {};
    }
    Verdict supports(const List& list) const override { return triggered::has_schedule(list); }
    std::unique_ptr<JobEngine> open(Job& job) const override { return std::make_unique<TriggeredJob>(job); }
};

}  // namespace

const Engine& triggered_engine() {
    static const TriggeredEngine engine;
    return engine;
}

std::unique_ptr<GroupEngine> open_triggered_group(DeferredWork& network, Link& messages,
                                                  const triggered::GroupLimits& limits) {
    return std::make_unique<TriggeredGroupEngine>(network, messages, limits, std::make_unique<Reservation>(),
                                                  nullptr);
}

}  // namespace lapwing
