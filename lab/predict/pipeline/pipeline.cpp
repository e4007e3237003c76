#include "predict/pipeline/pipeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/error.hpp"
#include "base/text_file.hpp"
#include "base/values.hpp"
#include "lapwing/common/values.hpp"

namespace lapwing::tool {
namespace {

using simulate::Action;

constexpr std::size_t max_actions = 1000000;
constexpr int max_of_a_value = 1 << 24;

// A pipeline that has a name; its values, with their defaults. lab/docs/reference.md describes them.
struct KnownPipeline {
    const char* name;
    std::map<std::string, std::string> values;
    Pipeline (*make)(const PipelineOptions& options, int ranks);
};
const KnownPipeline known_pipelines[] = {
    {"fft",
     {{"n", "256"}, {"per_rank", "0"}, {"variables", "3"}, {"window", "2"}, {"rows", "1"}, {"gflops", "2"}},
     make_fft},
    {"lu", {{"n", "8192"}, {"per_rank", "0"}, {"block", "128"}, {"gflops", "20"}}, make_lu},
};

}  // namespace

int Pipeline::operation(const Problem& problem, int stride, int rotation) {
    const auto same = std::find(problems.begin(), problems.end(), problem);
    const auto index = static_cast<std::size_t>(same - problems.begin());
    if (same == problems.end()) problems.push_back(problem);
    for (std::size_t i = 0; i < operations.size(); ++i) {
        const Operation& one = operations[i];
        if (one.problem == index && one.stride == stride && one.rotation == rotation)
            return static_cast<int>(i);
    }
    operations.push_back({index, stride, rotation});
    return static_cast<int>(operations.size()) - 1;
}

void Pipeline::compute(double seconds, simulate::SomeRanks ranks) {
    if (!(seconds <= simulate::max_seconds)) {
        throw Error(
            ErrorCode::invalid_argument,
            fmt::format("--pipeline: work of {:.3g} s is longer than {} s", seconds, simulate::max_seconds));
    }
    const Action work = simulate::compute(simulate::from_seconds(seconds), 0, ranks);
    if (work.work == 0) return;
    if (!actions.empty()) {
        Action& last = actions.back();
        if (last.kind == Action::Kind::compute && last.ranks.first == ranks.first &&
            last.ranks.count == ranks.count) {
            last.work += work.work;
            return;
        }
    }
    add(work);
}

void Pipeline::add(const Action& action) {
    if (actions.size() >= max_actions) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("--pipeline: it has more than {} steps", max_actions));
    }
    actions.push_back(action);
}

PipelineOptions read_pipeline(const std::string& written) {
    PipelineOptions options{.written = written, .name = written, .values = {}, .script = {}};
    const std::size_t colon = std::min(written.find(':'), written.size());
    std::vector<std::string> names;
    for (const KnownPipeline& known : known_pipelines) names.emplace_back(known.name);
    const std::string name = written.substr(0, colon);
    if (std::find(names.begin(), names.end(), name) == names.end()) {
        if (!std::filesystem::exists(written) && written.find_first_of("./") == std::string::npos) {
            pick("pipeline, nor file of that name:", name, names);
        }
        options.script = read_text_file(written, "pipeline");
        make_script(options, 2, 1);  // says now what is wrong with it
        return options;
    }
    options.name = name;
    const KnownPipeline& known = known_pipelines[pick("pipeline", name, names)];
    options.values = known.values;
    std::vector<std::string> value_names;
    for (const auto& [value, usual] : known.values) value_names.push_back(value);
    if (colon == written.size()) return options;
    read_list("--pipeline", written.substr(colon + 1), [&](const std::string& word) {
        const std::size_t equals = std::min(word.find('='), word.size());
        const std::string& value =
            value_names[pick(fmt::format("value of {}", name), word.substr(0, equals), value_names)];
        if (equals == word.size()) {
            throw Error(ErrorCode::invalid_argument,
                        fmt::format("--pipeline: '{}' has no value, as in {}=2", word, word));
        }
        options.values[value] = word.substr(equals + 1);
        return word;
    });
    return options;
}

Pipeline make_pipeline(const PipelineOptions& options, int ranks, std::uint64_t bytes) {
    for (const KnownPipeline& known : known_pipelines) {
        if (options.script.empty() && options.name == known.name) return known.make(options, ranks);
    }
    return make_script(options, ranks, bytes);
}

std::vector<Action> with_tests(std::vector<Action> actions, int tests) {
    int open = 0;
    for (Action& action : actions) {
        if (action.kind == Action::Kind::start) ++open;
        if (action.kind == Action::Kind::wait) --open;
        if (action.kind == Action::Kind::compute && open > 0) action.tests = tests;
    }
    return actions;
}

int whole(const PipelineOptions& options, const char* name, int least) {
    const std::string& written = options.values.at(name);
    const auto value = parse_bytes(written);
    if (!value || *value < static_cast<std::uint64_t>(least) ||
        *value > static_cast<std::uint64_t>(max_of_a_value)) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("--pipeline: {}={}: must be a whole number from {} to {}", name, written,
                                least, max_of_a_value));
    }
    return static_cast<int>(*value);
}

double number(const PipelineOptions& options, const char* name) {
    const std::string& written = options.values.at(name);
    return real_in(fmt::format("--pipeline: {}", name), written, 1e-6, 1e9);
}

}  // namespace lapwing::tool
