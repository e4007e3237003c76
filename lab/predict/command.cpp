// lapwing predict: simulates the lists of collectives, on more ranks than the machine has.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/messages.hpp"
#include "command_line/command_line.hpp"
#include "laboratory.hpp"
#include "lapwing/common/result_output.hpp"
#include "lapwing/common/values.hpp"
#include "predict/collectives.hpp"

namespace lapwing::tool {
namespace {

int predict(const PredictOptions& options) {
    const Study study = read_study(options);
    Cases all = cases_of(study);
    std::vector<Job*> jobs;
    for (Case& one : all.cases) jobs.push_back(&one);
    const std::string needs = needs_of(study, jobs);
    if (options.dry_run) {
        fmt::print("{}\n", needs);
        return success;
    }
    ResultOutput output(options.json, options.output);
    print_message("{}\n", needs);
    run(study, jobs, [&](std::size_t i, ProgressBar& bar) { simulate_case(study, all.cases[i], bar); });
    output.write([&] { return as_table(study, all); }, [&] { return as_json(study, all).dump(1) + "\n"; });
    return all.too_large.empty() ? success : violations_found;
}

}  // namespace

Command add_predict(CommandLine& tool) {
    auto options = std::make_shared<PredictOptions>();
    CommandLine* app = tool.add_subcommand("predict", "Simulate collectives on up to a million ranks");
    app->usage("Usage: lapwing predict COLLECTIVE,... --ranks P,... [OPTIONS]");
    add_predict_options(*app, *options);
    app->footer(
        "Examples:\n"
        "  lapwing predict barrier,iallreduce --ranks 16:1Mi\n"
        "  lapwing predict ibcast --ranks 1024 --bytes 1Ki:1Mi --algorithm all --work 0\n"
        "  lapwing predict ialltoall --ranks 512 --bytes 4Ki --interconnect torus:8x8x8 --tests 0,100\n"
        "  lapwing predict barrier --ranks 64:16Ki --work 1ms --noise 10hz:2500us,1000hz:25us --json -o "
        "noise.json\n"
        "\nEach rank's task list runs in simulated time. Nothing is measured: constants from few ranks may "
        "not "
        "hold for\n"
        "many. The same options give the same result. The exit status is 0; 1 if cases were left out for "
        "lack of memory; 125 if nothing was simulated.");
    return {app, [options] { return predict(*options); }};
}

}  // namespace lapwing::tool
