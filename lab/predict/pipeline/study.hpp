// Simulates a pipeline with and without overlap.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "predict/jobs.hpp"
#include "predict/pipeline/pipeline.hpp"

namespace lapwing::tool {

// Of one engine with so many tests and one disturbance. Seconds of one run.
struct PredictedPipeline {
    const simulate::Engine* engine = nullptr;
    int tests = 0;
    std::string noise;         // empty: none
    std::string algorithms;    // of the collectives, each once
    double computation = 0;    // of the slowest rank, alone and undisturbed
    double communication = 0;  // the collectives alone, one after the other, undisturbed
    // For each seed.
    std::vector<double> blocking;
    std::vector<double> nonblocking;
    std::uint64_t messages = 0;
};

struct PipelineCase : Job {
    int ranks = 0;
    std::uint64_t bytes = 0;  // 0: the pipeline does not follow --bytes
    Pipeline pipeline;
    std::vector<std::vector<Choice>> choices = {};  // for each engine, of each problem
    std::vector<PredictedPipeline> rows = {};
};

// Throws Error: invalid_argument for what does not fit together, unsupported for what needs more memory than
// it may have.
std::vector<PipelineCase> pipeline_cases_of(const Study& study);

void simulate_case(const Study& study, PipelineCase& one, ProgressBar& bar);

// The results, in the JSON form of `lapwing bench` and as a table.
nlohmann::ordered_json as_json(const Study& study, const std::vector<PipelineCase>& cases);
std::string as_table(const Study& study, const std::vector<PipelineCase>& cases);

}  // namespace lapwing::tool
