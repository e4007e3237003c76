#include "program.hpp"

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "command_line/command_line.hpp"

namespace apps {

namespace {

constexpr int most = 1 << 30;

double slowest(double mine) {
    double all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return all;
}

double median(std::vector<double> samples) {
    std::sort(samples.begin(), samples.end());
    return samples.empty() ? 0 : (samples[(samples.size() - 1) / 2] + samples[samples.size() / 2]) / 2;
}

}  // namespace

Program::Program(int argc, char** argv, const std::string& name, const std::string& description)
    : command_line_(std::make_unique<lapwing::CommandLine>(name, description)),
      name_(name),
      argc_(argc),
      argv_(argv) {
    MPI_Init(&argc_, &argv_);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    command_line_->add_option("--repeat", repeat_, "repetitions, each timed and checked")
        ->range(1, most)
        ->show_default();
    command_line_->add_flag("--bound", bound_, "also time the computation and the communication alone");
    command_line_->add_flag(
        "--plant-error", plant_error_,
        "change one received number in the last repetition: the program must notice and fail");
    command_line_->add_flag("--json", json_, "print one JSON object instead of text");
}

Program::~Program() {
    MPI_Finalize();
}

void Program::option(const std::string& name, int& value, const std::string& meaning, int least) {
    options_.emplace_back(name.substr(2), &value);
    command_line_->add_option(name, value, meaning)->range(least, most)->show_default();
}

void Program::option(const std::string& name, double& value, const std::string& meaning) {
    options_.emplace_back(name.substr(2), &value);
    command_line_->add_option(name, value, meaning)->show_default();
}

void Program::option(const std::string& name, std::vector<int>& values, const std::string& meaning) {
    options_.emplace_back(name.substr(2), &values);
    command_line_->add_option(name, values, meaning)
        ->values(int(values.size()))
        ->range(1, most)
        ->show_default();
}

void Program::option(const std::string& name, std::string& value, const std::string& meaning,
                     const std::vector<std::string>& choices) {
    options_.emplace_back(name.substr(2), &value);
    command_line_->add_option(name, value, meaning)->choices(choices)->show_default();
}

bool Program::parse() {
    try {
        if (const auto text = command_line_->parse({argv_ + 1, argv_ + argc_})) {
            if (rank == 0) std::fputs(text->c_str(), stdout);
            return false;
        }
    } catch (const lapwing::Error& error) {
        refuse(error.what());
        return false;
    }
    if (bound_ && !separable) {
        refuse("--bound needs parts that run alone; this program has none");
        return false;
    }
    return true;
}

int Program::refuse(const std::string& why) {
    if (rank == 0) std::fprintf(stderr, "%s: %s\n", name_.c_str(), why.c_str());
    return status = 2;
}

bool Program::plant() {
    const bool now = planting_;
    planting_ = false;
    return now;
}

void Program::result(const std::string& name, const Value& value) {
    for (auto& [known, held] : results_) {
        if (known == name) {
            held = value;
            return;
        }
    }
    results_.emplace_back(name, value);
}

int Program::measure(const std::function<void()>& prepare, const std::function<void(Parts)>& run,
                     const std::function<double()>& check, double limit) {
    for (int repetition = 0; repetition < repeat_; ++repetition) {
        prepare();
        for (auto& [name, sum] : phases_) sum = 0;
        planting_ =
            plant_error_ && rank == (plant_on < 0 ? ranks - 1 : plant_on) && repetition == repeat_ - 1;
        seconds_.push_back(timed(run, {}));
        planting_ = false;
        for (const auto& [name, sum] : phases_) phase_seconds_[name].push_back(slowest(sum));
        note_error(check(), limit);
        if (bound_) {
            prepare();
            computing_.push_back(timed(run, {true, false}));
            prepare();
            communicating_.push_back(timed(run, {false, true}));
        }
    }
    print(verified_);
    return status = verified_ ? 0 : 1;
}

void Program::note_error(double error, double limit) {
    // NaN would get lost in a maximum.
    const double worst = slowest(std::isnan(error) ? HUGE_VAL : error);
    error_ = std::max(error_, worst);
    verified_ = verified_ && worst <= limit;
}

double Program::timed(const std::function<void(Parts)>& run, Parts parts) const {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    run(parts);
    return slowest(MPI_Wtime() - begin);
}

void Program::print(bool good) {
    rate(median(seconds_));
    if (rank != 0) return;
    auto sizes = nlohmann::ordered_json::object();
    for (const auto& [name, variable] : options_)
        std::visit([&, key = name](const auto* held) { sizes[key] = *held; }, variable);
    auto results = nlohmann::ordered_json::object();
    for (const auto& [name, value] : results_)
        std::visit([&, key = name](auto held) { results[key] = held; }, value);
    if (json_) {
        nlohmann::ordered_json result = {
            {"app", name_}, {"variant", variant}, {"ranks", ranks}, {"sizes", sizes}, {"seconds", seconds_}};
        if (bound_) {
            result["computing"] = computing_;
            result["communicating"] = communicating_;
        }
        for (const auto& [name, samples] : phase_seconds_) result["phases"][name] = samples;
        result["results"] = results;
        result["verification"] = {{"passed", good}, {"error", std::min(error_, 1e300)}};
        std::printf("%s\n", result.dump().c_str());
        return;
    }
    std::printf("%s, %s, ranks: %d\n", name_.c_str(), variant.c_str(), ranks);
    for (const auto& [name, value] : sizes.items())
        std::printf("  %s: %s\n", name.c_str(), value.dump().c_str());
    std::printf("  %.4f s, the median of the repetitions\n", median(seconds_));
    for (const auto& [name, samples] : phase_seconds_)
        std::printf("  %.4f s in: %s\n", median(samples), name.c_str());
    if (bound_) {
        const double compute = median(computing_);
        const double communicate = median(communicating_);
        std::printf("  alone: computation %.4f s, communication %.4f s; overlap hides at most %.0f %%\n",
                    compute, communicate, 100 * std::min(compute, communicate) / (compute + communicate));
    }
    for (const auto& [name, value] : results.items())
        std::printf("  %s: %s\n", name.c_str(), value.dump().c_str());
    std::printf("  verification %s, greatest error %.2g\n", good ? "passed" : "FAILED", error_);
}

}  // namespace apps
