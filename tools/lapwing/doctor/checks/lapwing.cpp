// The same Lapwing on all hosts: version, build, tuning and topology files.
#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

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
    std::ostringstream content;
    const bool read = bool(content << std::ifstream(path, std::ios::binary).rdbuf());
    return read ? print_fingerprint(fingerprint_of(content.view())) : "unreadable";
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
    const Facts preload = facts.value("preload", Facts());
    return fmt::format("{}, {}", version,
                       preload.is_string() ? preload.get<std::string>() : "no preload library");
}

void judge_lapwing(const JobReport& job, Findings& findings) {
    const std::string advice = "install the same build on all hosts, or use one on a shared file system";
    const HostGroups versions = hosts_by(job, "lapwing", version_of);
    judge_equal(versions, {Severity::problem, "Lapwing", "", "Lapwing's version", advice}, findings);
    for (const auto& [missing, hosts] : hosts_by(job, "lapwing", [](const Facts& facts) {
             return facts.value("preload", Facts()).is_string() ? "" : "missing";
         }))
        findings.add(
            {Severity::problem, "Lapwing", names_of(hosts),
             fmt::format("{} is not installed", job.family->preload),
             fmt::format("build Lapwing where {}'s compiler wrapper is installed", job.family->title)});
    if (versions.size() > 1) return;
    const std::pair<const char*, std::string> files[] = {{"preload_fingerprint", job.family->preload},
                                                         {"tool", "the program lapwing"}};
    for (const auto& [key, file] : files) {
        const auto fingerprint = [key = key](const Facts& facts) {
            const Facts found = facts.value(key, Facts());
            return found.is_string() ? found.get<std::string>() : "";
        };
        judge_equal(hosts_by(job, "lapwing", fingerprint), {Severity::problem, "Lapwing", "", file, advice},
                    findings, "{0} is a different build than on {3}");
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
        const auto by = [&](const char* field) {
            return hosts_by(job, "files", [&, field](const Facts& facts) {
                return facts.value(file.key, Facts::object()).value(field, "");
            });
        };
        for (const auto& [why, hosts] : by("wrong"))
            findings.add({Severity::problem, "host", names_of(hosts),
                          fmt::format("{}: {}", file.variable, why),
                          fmt::format("copy {} to all hosts, under the same path", file.what)});
        judge_equal(
            by("fingerprint"),
            {Severity::problem, "host", "",
             fmt::format("{} '{}' ({})", file.what, job.settings.*file.path, file.variable),
             "copy the same file to all hosts: ranks with different files choose algorithms that do not "
             "match"},
            findings, "{0} is not the same as on {3}");
    }
}

}  // namespace

const Check lapwing_check{"lapwing", "Lapwing", lapwing_facts, lapwing_line, judge_lapwing};
const Check files_check{"files", "files", files_facts, files_line, judge_files};

}  // namespace lapwing::tool
