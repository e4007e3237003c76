// Kernel, processors, clock.
#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <fstream>
#include <thread>

#include "base/text_file.hpp"
#include "lapwing/doctor/check.hpp"
#include "topology/location.hpp"

namespace lapwing::tool {
namespace {

Facts kernel_facts(const MpiFamily&) {
    utsname names{};
    uname(&names);
    return {{"release", names.release}, {"machine", names.machine}};
}

std::string kernel_line(const Facts& facts) {
    return fmt::format("Linux {}, {}", facts.value("release", "?"), facts.value("machine", "?"));
}

void judge_kernel(const JobReport& job, Findings& findings) {
    judge_equal(hosts_by(job, "kernel", kernel_line),
                {Severity::hint, "host", "", "the kernel",
                 "boot the same kernel on all hosts: a tuning file holds for one kernel"},
                findings);
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
    const auto crowded = [](const HostReport& host) -> std::vector<std::string> {
        const std::size_t ranks = host.ranks.size();
        return {ranks > host.of("processors").value("processors", ranks) ? "more ranks than CPUs" : ""};
    };
    for (const auto& [what, hosts] : group_hosts(job, crowded))
        findings.add({Severity::hint, "host", names_of(hosts), what,
                      "start fewer ranks on a host: waiting ranks take CPU time from computing ranks"});
}

Facts clock_facts(const MpiFamily&) {
    std::string source;
    std::ifstream("/sys/devices/system/clocksource/clocksource0/current_clocksource") >> source;
    return {{"source", source}};
}

std::string clock_line(const Facts& facts) {
    return facts.value("source", "");
}

void judge_clock(const JobReport& job, Findings& findings) {
    // Their reading leaves the processor, and some take a microsecond and more.
    static const std::string slow[] = {"hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit"};
    for (const auto& [source, hosts] : hosts_by(job, "clock", clock_line)) {
        if (std::find(std::begin(slow), std::end(slow), source) == std::end(slow)) continue;
        findings.add({Severity::hint, "host", names_of(hosts),
                      fmt::format("the clock source {} is slow to read", source),
                      "boot with clocksource=tsc if the time-stamp counter of the CPU is reliable"});
    }
}

}  // namespace

const Check kernel_check{"kernel", "kernel", kernel_facts, kernel_line, judge_kernel};
const Check processors_check{"processors", "processors", processors_facts, processors_line, judge_processors};
const Check clock_check{"clock", "clock source", clock_facts, clock_line, judge_clock};

}  // namespace lapwing::tool
