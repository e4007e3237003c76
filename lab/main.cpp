// lapwing-lab, the laboratory: `lapwing predict` starts `lapwing-lab predict`, and so on.
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
         .subcommands = {{"Laboratory", "predict", add_predict}, {"Laboratory", "verify", add_verify}}});
}
