// The container in which a host's processes run, and the line that lets the kernel engine work in it.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "lapwing/doctor/check.hpp"

namespace lapwing::tool {
namespace {

bool is_set(const char* variable) {
    return std::getenv(variable) != nullptr;
}

bool exists(const char* path) {
    return ::access(path, F_OK) == 0;
}

// Enroot leaves no mark inside; but the directory that is mounted as / is below one of its own.
bool root_is_of_enroot() {
    std::ifstream mounts("/proc/self/mountinfo");
    for (std::string line; std::getline(mounts, line);) {
        std::istringstream words(line);
        std::string mount, parent, device, root, point;
        words >> mount >> parent >> device >> root >> point;
        if (point == "/") return root.find("enroot") != std::string::npos;
    }
    return false;
}

struct Runtime {
    const char* name;
    bool (*is_here)();
    const char* permits_io_uring;  // what to do
};

// Kubernetes first: its containers also have the marks of the runtime below it.
const Runtime runtimes[] = {
    {"Kubernetes", [] { return is_set("KUBERNETES_SERVICE_HOST"); },
     "copy share/lapwing/seccomp.json of Lapwing to /var/lib/kubelet/seccomp/lapwing.json on each node, and "
     "add to the "
     "pod's securityContext: seccompProfile: {type: Localhost, localhostProfile: lapwing.json}"},
    {"Apptainer", [] { return is_set("APPTAINER_CONTAINER") || is_set("SINGULARITY_CONTAINER"); },
     "Apptainer sets no filter by itself: take out `--security seccomp:FILE`, or allow io_uring where the "
     "job starts (the "
     "batch system's own container, or a system-wide filter)"},
    {"Enroot", root_is_of_enroot,
     "Enroot sets no filter by itself: allow io_uring where the job starts (the batch system's own "
     "container, or a "
     "system-wide filter)"},
    {"Podman", [] { return exists("/run/.containerenv"); },
     "podman run --security-opt seccomp=PREFIX/share/lapwing/seccomp.json, which is Podman's profile with "
     "the three calls "
     "of io_uring"},
    {"Docker", [] { return exists("/.dockerenv"); },
     "docker run --security-opt seccomp=PREFIX/share/lapwing/seccomp.json, a profile with the three calls of "
     "io_uring"}};

const Runtime* runtime_named(const std::string& name) {
    for (const Runtime& runtime : runtimes) {
        if (name == runtime.name) return &runtime;
    }
    return nullptr;
}

Facts container_facts(const MpiFamily&) {
    for (const Runtime& runtime : runtimes) {
        if (runtime.is_here()) return {{"runtime", runtime.name}};
    }
    return Facts::object();
}

std::string container_line(const Facts& facts) {
    return facts.value("runtime", "");
}

bool lacks_io_uring(const HostReport& host) {
    const Facts* const facts = host.find("engines");
    if (facts == nullptr) return false;
    for (const Facts& engine : facts->value("engines", Facts::array())) {
        if (engine.value("reason", "").starts_with("io_uring")) return true;
    }
    return false;
}

void judge_container(const JobReport& job, Findings& findings) {
    for (const auto& [name, hosts] : hosts_by(job, "container", container_line)) {
        const Runtime* const runtime = runtime_named(name);
        if (runtime == nullptr) continue;
        HostReports without;
        for (const HostReport* host : hosts) {
            if (lacks_io_uring(*host)) without.push_back(host);
        }
        if (without.empty()) continue;
        findings.hint(
            "host", names_of(without),
            fmt::format("this {} container does not permit io_uring, which the kernel engine needs", name),
            runtime->permits_io_uring);
    }
}

}  // namespace

extern const Check container_check;
const Check container_check{"container", "container", container_facts, container_line, judge_container};

}  // namespace lapwing::tool
