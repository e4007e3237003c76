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
                     .groups = {{"Run programs", {"run", "cluster"}},
                                {"Understand", {"profile", "explain", "topology", "report", "status"}},
                                {"Measure", {"compare", "bench", "tune"}},
                                {"Check", {"doctor", "info"}}},
                     .add = [](lapwing::CommandLine& tool, const Words& words) -> std::vector<Command> {
                         return {
                             add_run(tool, words),  add_cluster(tool, words), add_profile(tool, words),
                             add_explain(tool),     add_topology(tool),       add_report(tool),
                             add_status(tool),      add_compare(tool, words), add_bench(tool, words),
                             add_tune(tool, words), add_doctor(tool, words),  add_info(tool),
                             add_probe(tool),       add_doctor_agent(tool),   add_cluster_shell(tool, words)};
                     }});
}
