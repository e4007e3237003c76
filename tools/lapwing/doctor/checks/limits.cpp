// What the system allows: engines, also in containers; memory that processes share, descriptors, locked
// memory.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "base/values.hpp"
#include "engines/catalogue.hpp"
#include "job/settings.hpp"
#include "lapwing/common/this_host.hpp"
#include "lapwing/doctor/check.hpp"
#include "links/rdma_devices.hpp"
#include "links/tcp/sockets.hpp"

namespace lapwing::tool {
namespace {

// A number in a file; -1: there is none.
long number_in(const char* path) {
    long value = -1;
    std::ifstream(path) >> value;
    return value;
}

// Of this process: 0: none, 1: strict, 2: a filter; -1: not told.
int seccomp_mode() {
    std::ifstream file("/proc/self/status");
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("Seccomp:")) return std::atoi(line.c_str() + 8);
    }
    return -1;
}

// An engine that serves only jobs that name it may take long to say whether it is available.
Facts engines_facts(const MpiFamily&) {
    const std::string named = read_settings(environ).engine;
    std::vector<const Engine*> usable;
    for (const Engine* engine : engines()) {
        if (!engine->only_by_name() || named == engine->name()) usable.push_back(engine);
    }
    return {{"engines", engines_as_json(usable)},
            {"io_uring_disabled", number_in("/proc/sys/kernel/io_uring_disabled")},
            {"seccomp", seccomp_mode()}};
}

std::string engines_line(const Facts& facts) {
    std::vector<std::string> available;
    std::string missing;
    for (const Facts& engine : facts.at("engines")) {
        if (engine.value("available", false)) {
            available.push_back(engine.value("name", ""));
        } else {
            missing += fmt::format("; not {}", engine.value("name", ""));
        }
    }
    return fmt::format("{}{}{}", fmt::join(available, ", "), missing,
                       facts.value("seccomp", 0) == 2 ? " (under a seccomp filter)" : "");
}

void judge_engines(const JobReport& job, Findings& findings) {
    for (const Engine* engine : engines()) {
        const std::string name = engine->name();
        if (engine->only_by_name() && job.settings.engine != name) continue;
        const bool wanted = job.wants_engine(name);
        const bool covered = wanted && job.has_thread_between_hosts();
        for (const auto& [why, hosts] :
             hosts_by(job, "engines", [&](const Facts& facts) { return why_unavailable(facts, name); })) {
            findings.add(
                {wanted && !covered ? Severity::problem : Severity::hint, "host", names_of(hosts),
                 fmt::format("the {} engine is unavailable: {}", name, why),
                 covered
                     ? "until then the host engine runs the lists of the whole job, over TCP with a progress "
                       "thread, which uses more CPU time"
                 : wanted ? "until then the whole job runs on the host engine, which hides no communication "
                            "between hosts"
                          : "this job does not need it: its ranks are on one host, or LAPWING_ENGINE names "
                            "another engine"});
        }
    }
}

// A container's runtime, if it sets a filter of system calls by itself. Kubernetes first: its containers also
// have the marks of the runtime below it.
Facts container_facts(const MpiFamily&) {
    if (std::getenv("KUBERNETES_SERVICE_HOST") != nullptr) return {{"runtime", "Kubernetes"}};
    if (access("/run/.containerenv", F_OK) == 0) return {{"runtime", "Podman"}};
    if (access("/.dockerenv", F_OK) == 0) return {{"runtime", "Docker"}};
    return Facts::object();
}

std::string container_line(const Facts& facts) {
    return facts.value("runtime", "");
}

void judge_container(const JobReport& job, Findings& findings) {
    const auto without_io_uring = [](const HostReport& host) -> std::vector<std::string> {
        if (!why_unavailable(host.of("engines"), "kernel").starts_with("io_uring")) return {};
        return {container_line(host.of("container"))};
    };
    for (const auto& [runtime, hosts] : group_hosts(job, without_io_uring)) {
        findings.add(
            {Severity::hint, "host", names_of(hosts),
             fmt::format("this {} container does not permit io_uring, which the kernel engine needs",
                         runtime),
             runtime == "Kubernetes"
                 ? "copy share/lapwing/seccomp.json of Lapwing to /var/lib/kubelet/seccomp/lapwing.json on "
                   "each node, and add to the pod's securityContext: seccompProfile: {type: Localhost, "
                   "localhostProfile: lapwing.json}"
                 : "start it with --security-opt seccomp=PREFIX/share/lapwing/seccomp.json, a profile with "
                   "the three calls of io_uring"});
    }
}

Facts shared_memory_facts(const MpiFamily&) {
    Facts facts = {{"inside_a_host", survey_shared_memory(false).shared_memory},
                   {"ptrace_scope", number_in("/proc/sys/kernel/yama/ptrace_scope")}};
    struct statvfs size {};
    if (statvfs("/dev/shm", &size) == 0) facts["dev_shm_bytes"] = size.f_blocks * size.f_frsize;
    return facts;
}

std::string shared_memory_line(const Facts& facts) {
    return facts.value("inside_a_host", "");
}

void judge_shared_memory(const JobReport& job, Findings& findings) {
    const bool several = std::any_of(job.hosts.begin(), job.hosts.end(),
                                     [](const HostReport& host) { return host.ranks.size() > 1; });
    const std::string none = "no shared memory: ";
    const std::string pieces = "in pieces: ";
    for (const auto& [line, hosts] : hosts_by(job, "shared_memory", shared_memory_line)) {
        const std::size_t in_pieces = line.find(pieces);
        const bool asked = line.find("LAPWING_") != std::string::npos;
        if (line.starts_with(none)) {
            findings.add(
                {several && !asked ? Severity::problem : Severity::hint, "host", names_of(hosts), line,
                 "messages between ranks of one host go through the native MPI, and collectives within a "
                 "host progress only inside MPI calls"});
        } else if (in_pieces != std::string::npos && several && !asked) {
            findings.add(
                {Severity::hint, "host", names_of(hosts),
                 fmt::format("a process cannot copy from the memory of another process: {}",
                             line.substr(in_pieces + pieces.size())),
                 "allow process_vm_readv and process_vm_writev (containers: --cap-add SYS_PTRACE or "
                 "another seccomp profile; sysctl kernel.yama.ptrace_scope below 2); until then long "
                 "messages inside a host pass through shared memory"});
        }
    }
    if (!several) return;
    static constexpr std::uint64_t small = std::uint64_t{256} << 20;
    const auto is_small = [](const Facts& facts) {
        const std::uint64_t bytes = facts.value("dev_shm_bytes", small);
        return bytes < small ? fmt::format("/dev/shm has {} MiB", bytes >> 20) : std::string();
    };
    for (const auto& [line, hosts] : hosts_by(job, "shared_memory", is_small))
        findings.add({Severity::hint, "host", names_of(hosts), line,
                      "Lapwing does not use /dev/shm, but MPI libraries do: give containers more "
                      "(--shm-size)"});
}

Facts limit_facts(int resource) {
    rlimit limit{};
    getrlimit(static_cast<__rlimit_resource>(resource), &limit);
    const auto value = [](rlim_t one) { return one == RLIM_INFINITY ? Facts() : Facts(one); };
    return {{"soft", value(limit.rlim_cur)}, {"hard", value(limit.rlim_max)}};
}

// No limit is the largest number.
std::uint64_t limit_in(const Facts& facts, const char* key) {
    const auto found = facts.find(key);
    return found != facts.end() && found->is_number() ? found->get<std::uint64_t>() : UINT64_MAX;
}

std::string print_limit(const Facts& facts, const char* key, bool bytes) {
    const std::uint64_t value = limit_in(facts, key);
    if (value == UINT64_MAX) return "unlimited";
    return bytes ? fmt::format("{} KiB", value >> 10) : fmt::format("{}", value);
}

Facts descriptors_facts(const MpiFamily&) {
    Facts facts = limit_facts(RLIMIT_NOFILE);
    facts["free"] = tcp::free_descriptors();
    return facts;
}

std::string descriptors_line(const Facts& facts) {
    return fmt::format("{} (ulimit -n), at most {}", print_limit(facts, "soft", false),
                       print_limit(facts, "hard", false));
}

void judge_descriptors(const JobReport& job, Findings& findings) {
    if (!job.several_hosts() || job.ranks == 0 || job.settings.engine == "mpi") return;
    const auto ranks = static_cast<std::uint64_t>(job.ranks);
    const std::uint64_t group = (ranks - 1) * parse_number(job.settings.tcp_lanes).value_or(1);
    constexpr std::uint64_t groups_of_most_programs = 4;
    constexpr std::uint64_t of_the_mpi = 32;  // about so many, before Lapwing starts
    const auto shortage = [&](const Facts& facts) -> std::string {
        const std::uint64_t hard = limit_in(facts, "hard");
        const std::uint64_t used = limit_in(facts, "soft") - facts.value("free", limit_in(facts, "soft"));
        const std::uint64_t usable = hard - std::min(hard, used + of_the_mpi);
        if (usable < group + tcp::reserved_descriptors) return "none";
        return usable < groups_of_most_programs * group + tcp::reserved_descriptors ? "few" : "";
    };
    for (const auto& [how, hosts] : hosts_by(job, "descriptors", shortage)) {
        findings.add(
            {how == "none" ? Severity::problem : Severity::hint, "host", names_of(hosts),
             fmt::format("a process may open {} descriptors. The connections of a communicator of {} ranks "
                         "need {}, and {} more must stay free",
                         print_limit(hosts.front()->of("descriptors"), "hard", false), ranks, group,
                         tcp::reserved_descriptors),
             how == "none" ? "raise the hard limit of `ulimit -n` (limits.conf, or LimitNOFILE= of the "
                             "daemon that starts ranks), or lower LAPWING_TCP_LANES: until then the host "
                             "engine runs all collectives"
                           : "raise the hard limit of `ulimit -n` where programs have several such "
                             "communicators"});
    }
}

Facts locked_memory_facts(const MpiFamily&) {
    Facts facts = limit_facts(RLIMIT_MEMLOCK);
    facts["rdma"] = Facts::array();
    for (const auto& devices : {infiniband_devices(), slingshot_devices()})
        for (const std::string& device : devices) facts["rdma"].push_back(device);
    return facts;
}

std::string locked_memory_line(const Facts& facts) {
    return fmt::format("{} (ulimit -l)", print_limit(facts, "soft", true));
}

void judge_locked_memory(const JobReport& job, Findings& findings) {
    constexpr std::uint64_t enough = std::uint64_t{256} << 20;
    const auto device_without_memory = [](const Facts& facts) -> std::string {
        const bool little = limit_in(facts, "soft") < enough && !facts.at("rdma").empty();
        return little ? facts["rdma"].front().get<std::string>() : "";
    };
    for (const auto& [device, hosts] : hosts_by(job, "locked_memory", device_without_memory))
        findings.add(
            {Severity::hint, "host", names_of(hosts),
             fmt::format("a process may lock only {} of memory, but RDMA (here {}) needs locked memory",
                         print_limit(hosts.front()->of("locked_memory"), "soft", true), device),
             "remove the limit: `ulimit -l unlimited`, memlock in limits.conf, or "
             "LimitMEMLOCK=infinity of the daemon that starts ranks (sshd, slurmd)"});
}

}  // namespace

const Check engines_check{"engines", "engines", engines_facts, engines_line, judge_engines};
const Check container_check{"container", "container", container_facts, container_line, judge_container};
const Check shared_memory_check{"shared_memory", "inside a host", shared_memory_facts, shared_memory_line,
                                judge_shared_memory};
const Check descriptors_check{"descriptors", "descriptors", descriptors_facts, descriptors_line,
                              judge_descriptors};
const Check locked_memory_check{"locked_memory", "locked memory", locked_memory_facts, locked_memory_line,
                                judge_locked_memory};

}  // namespace lapwing::tool
