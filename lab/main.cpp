// lapwing-lab, the laboratory: `lapwing predict` starts `lapwing-lab predict`, and so on.
#include <iterator>

#include "laboratory.hpp"
#include "lapwing/common/laboratory.hpp"
#include "lapwing/common/tool.hpp"

int main(int argument_count, char** arguments) {
    using namespace lapwing::tool;
    return run_tool(
        argument_count, arguments,
        {.page = "lapwing-lab",
         .about = "Simulation and proofs of task lists.",
         .footer = "Examples:\n"
                   "  lapwing predict barrier,iallreduce --ranks 16:1Mi\n"
                   "  lapwing verify --all\n\n"
                   "`lapwing SUBCOMMAND --help` describes a subcommand.",
         .groups = {{"Laboratory", {std::begin(laboratory_commands), std::end(laboratory_commands)}}},
         .add = [](lapwing::CommandLine& tool, const Words&) -> std::vector<Command> {
             return {add_predict(tool), add_verify(tool)};
         }});
}
