// The MPI library that the loader finds. The one that programs use may stand beside the launcher instead:
// the job of its own that the doctor runs tells that one.
#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <link.h>

#include <cstdlib>
#include <sstream>

#include "lapwing/doctor/check.hpp"
#include "lapwing/mpi/survey.hpp"

namespace lapwing::tool {
namespace {

// Libraries that are preloaded here and define functions of MPI: tools by PMPI.
std::vector<std::string> preloaded_tools() {
    std::vector<std::string> tools;
    const char* const variable = std::getenv("LD_PRELOAD");
    std::string names = variable == nullptr ? "" : variable;
    std::ranges::replace(names, ':', ' ');  // both separate
    std::istringstream words(names);
    for (std::string name; words >> name;) {
        if (name.find("liblapwing-") != std::string::npos) continue;
        void* const library = dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD);
        if (library == nullptr) continue;
        // dlsym() also finds functions of libraries that this one needs.
        link_map* own = nullptr;
        link_map* defining = nullptr;
        Dl_info where{};
        void* const function = dlsym(library, "MPI_Init");
        if (function != nullptr && dlinfo(library, RTLD_DI_LINKMAP, &own) == 0 &&
            dladdr1(function, &where, reinterpret_cast<void**>(&defining), RTLD_DL_LINKMAP) != 0 &&
            own == defining)
            tools.push_back(name);
        dlclose(library);
    }
    return tools;
}

Facts mpi_facts(const MpiFamily& family) {
    return {{"libraries", find_libraries(family)}, {"preloaded_tools", preloaded_tools()}};
}

std::string mpi_line(const Facts& facts) {
    const Facts libraries = facts.value("libraries", Facts::array());
    return libraries.empty() ? "" : libraries.front().value("version", "");
}

void judge_mpi(const JobReport& job, Findings& findings) {
    const auto tools = hosts_by(job, "mpi", [](const Facts& facts) {
        return fmt::format("{}", fmt::join(facts.value("preloaded_tools", std::vector<std::string>()), ", "));
    });
    for (const auto& [names, hosts] : tools)
        findings.add({Severity::hint, "MPI", names_of(hosts),
                      fmt::format("LD_PRELOAD names a tool that wraps MPI's functions: {}", names),
                      "use `lapwing run`, which loads Lapwing after the tool, or name the tool before "
                      "Lapwing's library in LD_PRELOAD"});
    const auto library = [](const Facts& facts) {
        const std::string line = mpi_line(facts);
        return line.empty() ? "not found" : line;
    };
    judge_equal(
        hosts_by(job, "mpi", library),
        {Severity::hint, "MPI", "", fmt::format("the library of {} that the loader finds", job.family->title),
         "install the same MPI on all hosts, or load the same module there"},
        findings);
}

}  // namespace

const Check mpi_check{"mpi", "MPI library", mpi_facts, mpi_line, judge_mpi};

}  // namespace lapwing::tool
