#include "mpi/job/report.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>

namespace lapwing {

const char* name(Fallback reason) {
    constexpr const char* names[] = {"intercommunicator",
                                     "ranks outside of MPI_COMM_WORLD",
                                     "MPI_Init was not called through Lapwing",
                                     "engine mpi",
                                     "the MPI runs fault-tolerant",
                                     "the communicator is revoked",
                                     "no progress hook for this MPI",
                                     "no algorithm or engine applies",
                                     "taken first by another PMPI tool",
                                     "arguments that Lapwing does not support"};
    static_assert(std::size(names) == fallback_reasons);
    return names[static_cast<std::size_t>(reason)];
}

void Report::count_use(Collective collective, const Algorithm* algorithm, const Engine* engine) {
    std::vector<Use>& rows = uses[static_cast<std::size_t>(collective)];
    for (Use& use : rows) {
        if (use.algorithm == algorithm && use.engine == engine) {
            ++use.calls;
            return;
        }
    }
    rows.push_back({algorithm, engine, 1});
}

std::string begin_report(const std::string& mark) {
    if (mark.empty() || std::ofstream(mark)) return mark;
    std::error_code none;
    return std::filesystem::current_path(none) / std::filesystem::path(mark).parent_path().filename() +=
           ".mark";
}

}  // namespace lapwing
