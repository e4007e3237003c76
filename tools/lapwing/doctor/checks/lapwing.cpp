// The same Lapwing on all hosts: version, build, tuning and topology files.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/text_file.hpp"
#include "lapwing/doctor/check.hpp"
#include "plan/tuning.hpp"
#include "topology/host_order.hpp"

namespace lapwing::tool {
namespace {

std::string print_fingerprint(std::uint64_t fingerprint) {
    return fmt::format("{:016x}", fingerprint);
}

// Of a file of any size.
std::string fingerprint_of_file(const std::string& path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat status {};
    if (file < 0 || fstat(file, &status) != 0 || status.st_size == 0) {
        if (file >= 0) close(file);
        return "unreadable";
    }
    const auto bytes = static_cast<std::size_t>(status.st_size);
    void* const content = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0);
    close(file);
    if (content == MAP_FAILED) return "unreadable";
    const std::uint64_t found = fingerprint_of({static_cast<const char*>(content), bytes});
    munmap(content, bytes);
    return print_fingerprint(found);
}

Facts lapwing_facts(const MpiFamily& family) {
    std::vector<std::string> searched;
    const auto preload = find_preload(family.preload, searched);
    return {{"version", LAPWING_VERSION},
            {"tool", fingerprint_of_file("/proc/self/exe")},
            {"preload", preload ? Facts(*preload) : Facts()},
            {"preload_fingerprint", preload ? Facts(fingerprint_of_file(*preload)) : Facts()}};
}

std::string version_of(const Facts& facts) {
    return facts.value("version", "?");
}

std::string lapwing_line(const Facts& facts) {
    const std::string version = version_of(facts);
    if (!facts.contains("preload") || !facts["preload"].is_string()) return version + ", no preload library";
    return fmt::format("{}, {}", version, facts["preload"].get<std::string>());
}

void judge_lapwing(const JobReport& job, Findings& findings) {
    const std::string advice = "install the same build on all hosts, or use one on a shared file system";
    judge_equal(job, "lapwing", version_of, Severity::problem, "Lapwing", "Lapwing's version", advice,
                findings);
    for (const auto& [missing, hosts] : hosts_by(job, "lapwing", [](const Facts& facts) {
             return facts.value("preload", Facts()).is_string() ? "" : "missing";
         })) {
        if (missing.empty()) continue;
        findings.problem(
            "Lapwing", names_of(hosts), fmt::format("{} is not installed", job.family->preload),
            fmt::format("build Lapwing where {}'s compiler wrapper is installed", job.family->title));
    }
    if (hosts_by(job, "lapwing", version_of).size() > 1) return;
    const std::pair<const char*, std::string> files[] = {{"preload_fingerprint", job.family->preload},
                                                         {"tool", "the program lapwing"}};
    for (const auto& [key, file] : files) {
        const auto builds = hosts_by(job, "lapwing", [key = key](const Facts& facts) {
            const auto found = facts.find(key);
            return found != facts.end() && found->is_string() ? found->get<std::string>() : std::string();
        });
        for (std::size_t i = 1; i < builds.size(); ++i) {
            if (builds[i].first.empty()) continue;
            findings.problem(
                "Lapwing", names_of(builds[i].second),
                fmt::format("{} is a different build than on {}", file, names_of(builds[0].second)), advice);
        }
    }
}

struct File {
    const char* key;
    const char* what;
    const char* variable;
    std::string Settings::*path;
    std::uint64_t (*read)(const std::string& path);
};
const File files[] = {
    {"tuning", "the tuning file", "LAPWING_TUNING", &Settings::tuning,
     [](const std::string& path) { return Tuning::read(path).fingerprint(); }},
    {"topology", "the topology file", "LAPWING_TOPOLOGY", &Settings::topology,
     [](const std::string& path) { return topology::HostOrder::read(path).fingerprint(); }}};

Facts files_facts(const MpiFamily&) {
    const Settings settings = read_settings(environ);
    Facts facts = Facts::object();
    for (const File& file : files) {
        const std::string& path = settings.*file.path;
        if (path.empty()) continue;
        try {
            facts[file.key] = {{"path", path}, {"fingerprint", print_fingerprint(file.read(path))}};
        } catch (const Error& error) {
            facts[file.key] = {{"path", path}, {"wrong", error.what()}};
        }
    }
    return facts;
}

std::string files_line(const Facts& facts) {
    std::string line;
    for (const File& file : files) {
        if (!facts.contains(file.key)) continue;
        const Facts& one = facts[file.key];
        line += fmt::format("{}{} ({})", line.empty() ? "" : ", ", one.value("path", ""),
                            one.value("fingerprint", "unreadable"));
    }
    return line;
}

void judge_files(const JobReport& job, Findings& findings) {
    for (const File& file : files) {
        const auto wrong = hosts_by(job, "files", [&](const Facts& facts) {
            return facts.contains(file.key) ? facts[file.key].value("wrong", "") : "";
        });
        for (const auto& [why, hosts] : wrong) {
            if (why.empty()) continue;
            findings.problem("host", names_of(hosts), fmt::format("{}: {}", file.variable, why),
                             fmt::format("copy {} to all hosts, under the same path", file.what));
        }
        const auto found = hosts_by(job, "files", [&](const Facts& facts) {
            return facts.contains(file.key) ? facts[file.key].value("fingerprint", "") : "";
        });
        for (std::size_t i = 1; i < found.size(); ++i) {
            if (found[i].first.empty()) continue;
            const HostReports& good = found[found[0].first.empty() ? i : 0].second;
            if (good == found[i].second) continue;
            findings.problem("host", names_of(found[i].second),
                             fmt::format("{} '{}' ({}) is not the same as on {}", file.what,
                                         job.settings.*file.path, file.variable, names_of(good)),
                             "copy the same file to all hosts: ranks with different files choose "
                             "algorithms that do not match");
        }
    }
}

}  // namespace

extern const Check lapwing_check;
const Check lapwing_check{"lapwing", "Lapwing", lapwing_facts, lapwing_line, judge_lapwing};
extern const Check files_check;
const Check files_check{"files", "files", files_facts, files_line, judge_files};

}  // namespace lapwing::tool
