#include "lapwing/common/setting_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "command_line/command_line.hpp"
#include "lapwing/common/values.hpp"

namespace lapwing::tool {

void add_setting_options(CommandLine& app, SettingOptions& options) {
    app.begin_group("What Lapwing does");
    app.add_option("--engine", options.engine,
                   fmt::format("Engine: {} (LAPWING_ENGINE)", fmt::join(engine_names(), ", ")))
        ->type_name("E");
    app.add_option("--network", options.network,
                   "Network between hosts: auto, tcp, ucx, ofi or mpi (LAPWING_NETWORK)")
        ->type_name("N");
    app.add_option("--algorithm", options.algorithm,
                   "Algorithms, such as ialltoall=pairwise:window=6,ibcast=binomial")
        ->type_name("SPEC");
    app.add_option("--tuning", options.tuning,
                   "Choose algorithms by this tuning file, which `lapwing "
                   "tune` writes")
        ->type_name("FILE");
    app.add_option("--topology", options.topology,
                   "The order of hosts in the network; see `lapwing topology --help`")
        ->type_name("FILE");
    app.add_option("--blocking", options.blocking,
                   "Run blocking collectives as well (LAPWING_BLOCKING); alone: on")
        ->type_name("WHEN")
        ->choices({"on", "off"})
        ->optional_value("on");
    app.add_option(
           "--messages", options.messages,
           "Progress large messages during computation: auto, on, off; auto: if the job spans hosts, or "
           "each rank has a second CPU; alone: on")
        ->type_name("WHEN")
        ->choices({"auto", "on", "off"})
        ->optional_value("on");
    app.begin_group("Diagnosis");
    app.add_option("--stall", options.stall,
                   "Print which ranks wait for which others when a rank has waited for S seconds; 0: "
                   "never (60)")
        ->type_name("S");
}

Settings settings_of(const SettingOptions& options) {
    const GivenSetting given[] = {{"--engine", &Settings::engine, if_given(options.engine)},
                                  {"--network", &Settings::network, if_given(options.network)},
                                  {"--algorithm", &Settings::algorithm, if_given(options.algorithm)},
                                  {"--tuning", &Settings::tuning, if_given(options.tuning)},
                                  {"--topology", &Settings::topology, if_given(options.topology)},
                                  {"--blocking", &Settings::blocking, if_given(options.blocking)},
                                  {"--messages", &Settings::messages, if_given(options.messages)},
                                  {"--stall", &Settings::stall, if_given(options.stall)}};
    return checked_settings(given);
}

}  // namespace lapwing::tool
