#include "lapwing/explain/choice.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "base/error.hpp"
#include "collectives/catalogue.hpp"
#include "command_line/command_line.hpp"
#include "lapwing/common/values.hpp"
#include "plan/list_files.hpp"

namespace lapwing::tool {
namespace {

Settings settings_of(const ChoiceOptions& options) {
    const GivenSetting given[] = {{"--engine", &Settings::engine, if_given(options.engine)}};
    return checked_settings(given);
}

// "auto" takes the kernel engine between hosts, and so does this: whether it is available there cannot be
// known here.
Surroundings surroundings_of(bool several_hosts, const Settings& settings) {
    Surroundings surroundings;
    surroundings.several_hosts = several_hosts;
    const std::string& wanted = settings.engine;
    if (wanted == "auto" || wanted == "mpi") {
        surroundings.engine = surroundings.several_hosts ? "kernel" : "host";
    } else {
        surroundings.engine = wanted;
    }
    return surroundings;
}

}  // namespace

std::string Chosen::place() const {
    return fmt::format("{}, {}", surroundings.engine,
                       surroundings.several_hosts ? "between hosts" : "inside one host");
}

std::string Chosen::sentence() const {
    std::string text = fmt::format("{} ({}", print(choice), why);
    if (choice.algorithm->lists == nullptr) text += fmt::format("; modelled {}", print_seconds(seconds));
    for (const Candidate& candidate : candidates) {
        if (!candidate.applies) break;
        if (candidate.choice.algorithm == choice.algorithm) continue;
        text += fmt::format("; next {} {}", print(candidate.choice), print_seconds(candidate.cost));
        break;
    }
    return text + ")";
}

void add_choice_options(CommandLine& app, ChoiceOptions& options) {
    app.add_option("--algorithm", options.algorithm,
                   "Algorithm, such as pairwise:window=6 or file:my.lists (the one that a run would choose)")
        ->type_name("A");
    app.add_option("--engine", options.engine, "Choose the algorithm for this engine (LAPWING_ENGINE)")
        ->type_name("E");
}

Chosen choose(const ChoiceOptions& options, const Problem& problem, bool several_hosts) {
    const Settings settings = settings_of(options);
    Chosen chosen;
    chosen.surroundings = surroundings_of(several_hosts, settings);
    if (algorithms_of(problem.collective).empty()) {
        throw Error(ErrorCode::unsupported, fmt::format("{} has no algorithm", name(problem.collective)));
    }
    if (!options.algorithm.empty()) {
        chosen.choice =
            named("--algorithm", [&] { return read_choice(problem.collective, options.algorithm); });
        const Verdict verdict = chosen.choice.applies(problem);
        if (verdict) return chosen;
        const bool ask = chosen.choice.algorithm->knows_hosts && problem.placement == nullptr;
        throw Error(
            ErrorCode::unsupported,
            fmt::format("{} declines this problem: {}{}", chosen.choice.algorithm->name, verdict.reason(),
                        ask ? "; give them with --hosts, for example --hosts 2x4" : ""));
    }
    std::optional<Tuning> tuning;
    if (!settings.tuning.empty()) tuning = Tuning::read(settings.tuning);
    const Guidance guidance{tuning ? &*tuning : nullptr, chosen.surroundings};
    const Selection selection =
        select(problem, RequestedAlgorithms::parse(settings.algorithm), guidance, &chosen.why);
    const Machine machine = guidance.machine(problem);
    chosen.choice = selection.choice;
    static constexpr const char* words[] = {"variable", "tuning", "defaults", "cost"};
    chosen.by = words[static_cast<std::size_t>(selection.by)];
    if (selection.by == Selection::By::request) chosen.why += " by LAPWING_ALGORITHM";
    chosen.seconds = modelled_seconds(problem, chosen.choice, machine);
    chosen.candidates = candidates(problem, machine);
    return chosen;
}

}  // namespace lapwing::tool
