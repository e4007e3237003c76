// lapwing, the command-line tool.
#include "lapwing/common/laboratory.hpp"
#include "lapwing/common/tool.hpp"

int main(int argument_count, char** arguments) {
    using namespace lapwing::tool;
    if (argument_count > 1 && is_laboratory(arguments[1])) return run_laboratory(arguments);
    return run_tool(argument_count, arguments,
                    {.page = "lapwing",
                     .about = "Overlaps the communication of MPI programs with their computation.",
                     .footer = "Examples:\n"
                               "  lapwing run --report -- mpirun -n 2 ./program\n"
                               "  lapwing explain barrier --ranks 4\n\n"
                               "`lapwing SUBCOMMAND --help` describes a subcommand. The laboratory (package "
                               "lapwing-lab) adds\n"
                               "predict and verify: simulation and proofs of task lists.",
                     .subcommands = {{"Run programs", "run", add_run},
                                     {"Run programs", "cluster", add_cluster},
                                     {"Understand", "profile", add_profile},
                                     {"Understand", "explain", add_explain},
                                     {"Understand", "topology", add_topology},
                                     {"Understand", "report", add_report},
                                     {"Understand", "status", add_status},
                                     {"Measure", "compare", add_compare},
                                     {"Measure", "bench", add_bench},
                                     {"Measure", "tune", add_tune},
                                     {"Check", "doctor", add_doctor},
                                     {"Check", "info", add_info},
                                     {"", "probe", add_probe},
                                     {"", "doctor-agent", add_doctor_agent},
                                     {"", "cluster-shell", add_cluster_shell}}});
}
