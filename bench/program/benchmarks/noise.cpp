// noise: matrix products beside a collective, without and with processes that take each processor in short
// bursts (Kandalla et al. 2011, "Designing Non-blocking Broadcast", impact of noise). The same noise beside
// the products alone shows what of the loss is the processor's, which no collective can help.
#include <algorithm>

#include "program/benchmarks.hpp"
#include "program/compute/noise_processes.hpp"
#include "program/measure/work_beside.hpp"

namespace lapwing::bench {
namespace {

class NoiseLine : public SubjectLine {
  public:
    NoiseLine(std::shared_ptr<Subject> subject, Amount amount, std::shared_ptr<NoiseProcesses> noise)
        : SubjectLine(subject), work_(std::move(subject), std::move(amount)), noise_(std::move(noise)) {}

    void warm_up() override { work_.fit(); }

    std::vector<std::function<void()>> phases() override {
        return {[this] { sample_["alone"] = work_.alone(); },
                [this] { sample_["total"] = work_.beside().total; },
                [this] { sample_["alone_noise"] = amid_noise([this] { return work_.alone(); }); },
                [this] { sample_["total_noise"] = amid_noise([this] { return work_.beside().total; }); }};
    }

  protected:
    nlohmann::json describe() const override {
        nlohmann::json result = SubjectLine::describe();
        work_.block().describe(result);
        return result;
    }

  private:
    double amid_noise(const std::function<double()>& measured) {
        noise_->go_on();
        const double seconds = measured();
        noise_->pause();
        return seconds;
    }

    WorkBeside work_;
    std::shared_ptr<NoiseProcesses> noise_;
};

// Several bursts must fall into a phase.
double phase_seconds(double frequency_hz) {
    return std::max(0.05, 5 / frequency_hz);
}

std::vector<RowGroup> noise_groups(Bench& bench) {
    std::vector<RowGroup> groups;
    for (const double frequency : bench.settings.frequencies_hz) {
        const auto rows = [&bench, frequency](Collective collective, std::uint64_t bytes) {
            const auto subjects =
                make_subjects(bench, make_exchanges(bench, collective, bytes), phase_seconds(frequency));
            std::vector<Row> made;
            for (const double burst : bench.settings.burst_seconds) {
                const auto noise = std::make_shared<NoiseProcesses>(bench.world, frequency, burst);
                for (const int tests : bench.settings.tests) {
                    Row& row = made.emplace_back();
                    row.head = head(bench, collective, bytes, "noise");
                    row.head["frequency_hz"] = frequency;
                    row.head["burst_seconds"] = burst;
                    row.head["variant"] = variant_of_tests(tests);
                    for (const auto& subject : subjects) {
                        row.lines.push_back(std::make_unique<NoiseLine>(
                            subject, Amount{bench.settings.work_factor, tests, true}, noise));
                    }
                }
            }
            return made;
        };
        for (RowGroup& group : for_each_case(bench, rows)) groups.push_back(std::move(group));
    }
    return groups;
}

}  // namespace

const Benchmark benchmarks::noise = {noise_groups, true};

}  // namespace lapwing::bench
