#include "mpi/job/tracing.hpp"

#include <fmt/format.h>
#include <mpi.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.hpp"
#include "base/trace.hpp"
#include "links/tcp/addresses.hpp"
#include "mpi/job/agreement.hpp"
#include "mpi/job/metadata.hpp"
#include "mpi/job/report.hpp"

namespace lapwing {

void begin_tracing(const Settings& settings, const RankLocations& locations) {
    const std::uint64_t capacity = trace::parse_capacity("LAPWING_TRACE_EVENTS", settings.trace_events);
    if (settings.trace.empty()) return;
    int rank = 0;
    int ranks = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
    std::string trouble;
    try {
        trace::open(settings.trace, rank, capacity);
    } catch (const Error& error) {
        trouble = error.what();
    }
    const std::string first = agree_on_trouble(trouble, rank);
    if (!first.empty()) throw Error(ErrorCode::system, first);
    add_metadata({{"fact", "rank"},
                  {"rank", rank},
                  {"ranks", ranks},
                  {"host", tcp::host_name()},
                  {"process", ::getpid()},
                  {"lapwing", LAPWING_VERSION},
                  {"mpi", mpi_version()},
                  {"engine", settings.engine},
                  {"capacity", capacity}});
    add_clock_metadata(locations, "begin");
}

void end_tracing(const RankLocations& locations) {
    if (!trace::on()) return;
    add_clock_metadata(locations, "end");
    const std::string trouble = trace::close();
    if (!trouble.empty()) fmt::print(stderr, "lapwing: a part of the trace is incomplete: {}\n", trouble);
}

}  // namespace lapwing
