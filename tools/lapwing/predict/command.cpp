// lapwing predict: collectives on more ranks than there are, by simulation of their lists.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "command_line/command_line.hpp"
#include "lapwing/common/command.hpp"
#include "lapwing/common/output_file.hpp"
#include "lapwing/common/values.hpp"
#include "lapwing/predict/cases.hpp"
#include "lapwing/predict/result.hpp"
#include "lapwing/predict/run.hpp"
#include "lapwing/predict/study.hpp"

namespace lapwing::tool {
namespace {

// "3 cases, about 62.9 M messages, at most 707 MiB each; about 13 s"
std::string needs_of(const Study& study, const std::vector<Case>& cases) {
    std::uint64_t messages = 0;
    std::uint64_t most_memory = 0;
    for (const Case& one : cases) {
        messages += one.messages;
        most_memory = std::max(most_memory, one.memory);
    }
    const auto threads = std::min(static_cast<std::size_t>(study.threads), cases.size());
    return fmt::format("{} case{}, about {:.3g} million messages, up to {} MiB for a case; about {:.0f} s",
                       cases.size(), cases.size() == 1 ? "" : "s", static_cast<double>(messages) * 1e-6,
                       std::max<std::uint64_t>(most_memory >> 20, 1),
                       std::max(1.0, seconds_of(messages) / static_cast<double>(threads)));
}

int predict(const PredictOptions& options) {
    const Study study = read_study(options);
    const Cases cases = cases_of(study);
    if (options.dry_run) {
        fmt::print("{}\n", needs_of(study, cases.cases));
        return success;
    }
    std::optional<OutputFile> file;
    if (!options.json.empty() && options.json != "-") file.emplace(options.json, "the result");
    fmt::print(stderr, "{}\n", needs_of(study, cases.cases));
    const std::vector<PredictedCase> predicted = run(study, cases.cases);
    const std::string json = options.json.empty() ? "" : as_json(study, cases, predicted).dump(1) + "\n";
    if (options.json == "-") {
        fmt::print("{}", json);
    } else {
        fmt::print("{}", as_table(study, cases, predicted));
    }
    if (file) {
        file->write(json);
        file->close();
    }
    const bool complete =
        cases.too_large.empty() && std::all_of(predicted.begin(), predicted.end(),
                                               [](const PredictedCase& one) { return one.left_out.empty(); });
    return complete ? success : violations_found;
}

}  // namespace

Command add_predict(CommandLine& tool) {
    auto options = std::make_shared<PredictOptions>();
    CommandLine* app =
        tool.add_subcommand("predict", "Simulate collectives on up to a million ranks: time, overlap, noise");
    app->usage("Usage: lapwing predict COLLECTIVE,... --ranks P,... [OPTIONS]");
    add_predict_options(*app, *options);
    app->footer(
        "Examples:\n"
        "  lapwing predict barrier,iallreduce --ranks 16:1Mi\n"
        "  lapwing predict ibcast --ranks 1024 --bytes 1Ki:1Mi --algorithm all --work 0\n"
        "  lapwing predict ialltoall --ranks 512 --bytes 4Ki --network torus:8x8x8 --tests 0,100\n"
        "  lapwing predict barrier --ranks 64:16Ki --work 1ms --noise 10hz:2500us,1000hz:25us --json "
        "noise.json\n"
        "\nEach rank's task list runs in simulated time: nothing is measured, and constants that were "
        "measured "
        "on few\n"
        "ranks may not hold for many. The same options give the same result. The exit status is 0; 1 when "
        "cases "
        "were\n"
        "left out for want of time or memory; 2 when nothing was simulated.");
    return {app, [options] { return predict(*options); }};
}

}  // namespace lapwing::tool
