// lapwing topology: shows the hosts of a topology file in their order.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "base/json_schema.hpp"
#include "command_line/command_line.hpp"
#include "lapwing/common/command.hpp"
#include "topology/host_order.hpp"

namespace lapwing::tool {

Command add_topology(CommandLine& tool) {
    struct Options {
        std::string file;
        bool json = false;
    };
    auto options = std::make_shared<Options>();
    CommandLine* app = tool.add_subcommand("topology", "Show the hosts of a topology file in their order");
    app->add_option("FILE", options->file, "The topology file")->required();
    app->add_flag("--json", options->json, "Print JSON");
    app->footer(
        "Examples:\n"
        "  lapwing topology cluster.topology\n"
        "  lapwing run --topology cluster.topology -- mpirun -n 64 ./program\n\n"
        "A topology file lists the hosts in network order, neighbours side by side:\n"
        "  node1 node[05-08]\n"
        "  torus 4x4 node[01-16]");
    return {
        app, [options] {
            const std::vector<std::string> hosts = topology::HostOrder::read(options->file).hosts();
            if (options->json)
                fmt::print("{}\n", nlohmann::ordered_json{{"schema", json_schema}, {"hosts", hosts}}.dump(2));
            else
                fmt::print("{}\n", fmt::join(hosts, "\n"));
            return success;
        }};
}

}  // namespace lapwing::tool
