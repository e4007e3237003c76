// The MPI library that the loader finds. The one that programs use may stand beside the launcher instead:
// the job of its own that the doctor runs tells that one.
#include <fmt/format.h>

#include "lapwing/doctor/check.hpp"
#include "lapwing/mpi/survey.hpp"

namespace lapwing::tool {
namespace {

Facts mpi_facts(const MpiFamily& family) {
    Facts libraries = Facts::array();
    for (const FoundLibrary& library : find_libraries(family))
        libraries.push_back({{"path", library.path}, {"version", library.version}});
    return {{"libraries", libraries}};
}

std::string mpi_line(const Facts& facts) {
    const auto libraries = facts.find("libraries");
    if (libraries == facts.end() || libraries->empty()) return "";
    return libraries->front().value("version", "");
}

void judge_mpi(const JobReport& job, Findings& findings) {
    judge_equal(
        job, "mpi",
        [](const Facts& facts) {
            const std::string line = mpi_line(facts);
            return line.empty() ? std::string("not found") : line;
        },
        Severity::hint, "MPI", fmt::format("the library of {} that the loader finds", job.family->title),
        "install the same MPI on all hosts, or load the same module there", findings);
}

}  // namespace

extern const Check mpi_check;
const Check mpi_check{"mpi", "MPI library", mpi_facts, mpi_line, judge_mpi};

}  // namespace lapwing::tool
