// Kernel, processors, clock.
#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <fstream>
#include <thread>

#include "lapwing/doctor/check.hpp"
#include "topology/location.hpp"

namespace lapwing::tool {
namespace {

std::string first_line(const char* path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

Facts kernel_facts(const MpiFamily&) {
    utsname names{};
    uname(&names);
    return {{"release", names.release}, {"machine", names.machine}};
}

std::string kernel_line(const Facts& facts) {
    return fmt::format("Linux {}, {}", facts.value("release", "?"), facts.value("machine", "?"));
}

void judge_kernel(const JobReport& job, Findings& findings) {
    judge_equal(job, "kernel", kernel_line, Severity::hint, "host", "the kernel",
                "boot the same kernel on all hosts: a tuning file holds for one kernel", findings);
}

Facts processors_facts(const MpiFamily&) {
    std::string model;
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; model.empty() && std::getline(file, line);) {
        if (line.starts_with("model name") && line.find(": ") != std::string::npos)
            model = line.substr(line.find(": ") + 2);
    }
    return {{"model", model},
            {"processors", std::thread::hardware_concurrency()},
            {"allowed", topology::allowed_processors().size()}};
}

std::string processors_line(const Facts& facts) {
    const std::string model = facts.value("model", "");
    return fmt::format("{}{}{}", facts.value("processors", 0), model.empty() ? "" : ", ", model);
}

void judge_processors(const JobReport& job, Findings& findings) {
    HostReports crowded;
    for (const HostReport& host : job.hosts) {
        const Facts* const facts = host.find("processors");
        if (facts != nullptr && host.ranks.size() > facts->value("processors", std::size_t{0}))
            crowded.push_back(&host);
    }
    if (crowded.empty()) return;
    findings.hint("host", names_of(crowded), "more ranks than CPUs",
                  "start fewer ranks on a host: waiting ranks take CPU time from computing ranks");
}

Facts clock_facts(const MpiFamily&) {
    return {{"source", first_line("/sys/devices/system/clocksource/clocksource0/current_clocksource")}};
}

std::string clock_line(const Facts& facts) {
    return facts.value("source", "");
}

void judge_clock(const JobReport& job, Findings& findings) {
    // Their reading leaves the processor, and some take a microsecond and more.
    static const std::string slow[] = {"hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit"};
    for (const auto& [source, hosts] : hosts_by(job, "clock", clock_line)) {
        if (std::find(std::begin(slow), std::end(slow), source) == std::end(slow)) continue;
        findings.hint("host", names_of(hosts), fmt::format("the clock source {} is slow to read", source),
                      "boot with clocksource=tsc if the time-stamp counter of the CPU is reliable");
    }
}

}  // namespace

extern const Check kernel_check;
const Check kernel_check{"kernel", "kernel", kernel_facts, kernel_line, judge_kernel};
extern const Check processors_check;
const Check processors_check{"processors", "processors", processors_facts, processors_line, judge_processors};
extern const Check clock_check;
const Check clock_check{"clock", "clock source", clock_facts, clock_line, judge_clock};

}  // namespace lapwing::tool
