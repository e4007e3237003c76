#include "job/settings.hpp"

#include <algorithm>
#include <vector>

#include "base/error.hpp"
#include "base/values.hpp"
#include "collectives/user_lists.hpp"
#include "engines/catalogue.hpp"
#include "links/fabrics.hpp"
#include "links/tcp/options.hpp"
#include "plan/options.hpp"

namespace lapwing {
namespace {

shm::TransferMethod read_transfer(const std::string& value) {
    if (value == "auto") return shm::TransferMethod::automatic;
    if (value == "processor") return shm::TransferMethod::processor;
    if (value == "kernel") return shm::TransferMethod::kernel;
    refuse_value("LAPWING_TRANSFER", "auto, kernel or processor", value);
}

}  // namespace

NetworkSettings read_network_settings(const Settings& settings) {
    NetworkSettings network;
    std::vector<std::string> networks = {"auto", "mpi"};
    for (const FabricKind& kind : fabrics()) networks.emplace_back(kind.name);
    check_word("LAPWING_NETWORK", settings.network, networks);
    network.network = settings.network;
    check_word("LAPWING_SHORT_MESSAGES", settings.short_messages, {"send", "put"});
    network.shared_memory = parse_switch("LAPWING_SHARED_MEMORY", settings.shared_memory);
    network.transfer = read_transfer(settings.transfer);
    network.memory_only_inside = settings.inside == "memory";
    network.progress = read_progress_choice(settings);
    return network;
}

std::uint64_t setting_fingerprint(const Settings& settings) {
    std::uint64_t fingerprint = 0;
    for (const std::uint64_t hash : shared_setting_hashes(settings))
        fingerprint = fingerprint * 0x9e3779b97f4a7c15U + hash;
    return fingerprint;
}

void compare_settings(Job& job, const std::vector<std::uint64_t>& fingerprints) {
    if (std::ranges::count(fingerprints, fingerprints.front()) == job.ranks()) return;
    const auto all = job.exchange_values(shared_setting_hashes(job.settings()));
    for (std::size_t rank = 1; rank < all.size(); ++rank) {
        const auto differs = std::mismatch(all[0].begin(), all[0].end(), all[rank].begin()).first;
        if (differs == all[0].end()) continue;
        throw_invalid(
            "{}, or its option, must be the same on all ranks; it differs between rank 0 and rank {}",
            setting_rows()[static_cast<std::size_t>(differs - all[0].begin())].variable, rank);
    }
}

namespace {

// Collective. `variable` names `path`.
void compare_file(Job& job, const char* variable, const std::string& path, std::uint64_t fingerprint) {
    const std::uint64_t first = job.exchange_values(fingerprint).front();
    const std::string differs = job.agree(fingerprint == first ? "" : "it differs from rank 0's");
    if (differs.empty()) return;
    throw_invalid("the file '{}' ({}) is not the same on all hosts: {}", path, variable, differs);
}

}  // namespace

topology::HostOrder read_host_order(const Settings& settings) {
    return settings.topology.empty() ? topology::HostOrder() : topology::HostOrder::read(settings.topology);
}

void compare_files(Job& job, const PlanOptions& options, const topology::HostOrder& hosts) {
    if (!job.settings().topology.empty())
        compare_file(job, "LAPWING_TOPOLOGY", job.settings().topology, hosts.fingerprint());
    if (options.tuning != nullptr)
        compare_file(job, "LAPWING_TUNING", job.settings().tuning, options.tuning->fingerprint());
    // The ranks have the same choices by now, and so the same names of files.
    for (const Choice& choice : options.requested.all()) {
        if (const UserLists* lists = choice.algorithm->lists)
            compare_file(job, "LAPWING_ALGORITHM", lists->file(), lists->fingerprint());
    }
    if (options.tuning == nullptr) return;
    for (const UserLists* lists : options.tuning->list_files())
        compare_file(job, "LAPWING_TUNING", lists->file(), lists->fingerprint());
}

void check_settings(const Settings& settings) {
    read_network_settings(settings);
    read_plan_options(settings, {"mpi"});
    takes_device_memory(settings);
    tcp::read_options(settings);
    number_in("LAPWING_TCP_LANES", settings.tcp_lanes, 1, 64);
    number_in("LAPWING_STALL", settings.stall, 0, 86400);
    for (const Engine* engine : engines()) engine->check(settings);
}

}  // namespace lapwing
