#include "mpi/job/tracing.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.hpp"
#include "base/trace.hpp"
#include "engines/job.hpp"
#include "links/tcp/addresses.hpp"
#include "mpi/job/metadata.hpp"
#include "mpi/job/report.hpp"

namespace lapwing {

void begin_tracing(Job& job, const RankLocations& locations) {
    const Settings& settings = job.settings();
    const std::uint64_t capacity = trace::parse_capacity("LAPWING_TRACE_EVENTS", settings.trace_events);
    if (settings.trace.empty()) return;
    job.together([&] { trace::open(settings.trace, job.rank(), capacity); });
    add_metadata({{"fact", "rank"},
                  {"rank", job.rank()},
                  {"ranks", job.ranks()},
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
