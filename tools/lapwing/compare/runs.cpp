#include "lapwing/compare/runs.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>

#include "base/messages.hpp"
#include "lapwing/common/command.hpp"
#include "lapwing/common/process.hpp"
#include "lapwing/common/progress_bar.hpp"
#include "lapwing/compare/statistics.hpp"
#include "lapwing/launch/turns.hpp"

namespace lapwing::tool {
namespace {

// Each run reads the tool's standard input from its beginning if it is a file; otherwise nothing.
class Input {
  public:
    Input() {
        struct stat found {};
        const bool file = fstat(STDIN_FILENO, &found) == 0 && S_ISREG(found.st_mode);
        descriptor_ = open(file ? "/proc/self/fd/0" : "/dev/null", O_RDONLY | O_CLOEXEC);
    }
    ~Input() { close(descriptor_); }
    Input(const Input&) = delete;
    Input& operator=(const Input&) = delete;

    int descriptor() const { return descriptor_; }

  private:
    int descriptor_;
};

void print_end(std::string_view output) {
    constexpr std::size_t shown = 4000;
    if (output.empty()) return;
    const std::size_t cut = output.size() > shown ? output.find('\n', output.size() - shown) : 0;
    output.remove_prefix(cut == std::string_view::npos ? output.size() - shown : cut);
    print_message("{}{}{}", cut == 0 ? "" : "...", output, output.ends_with('\n') ? "" : "\n");
}

std::string print_status(int status) {
    return WIFEXITED(status) ? fmt::format("exit status {}", WEXITSTATUS(status))
                             : fmt::format("ended by signal {}", WTERMSIG(status));
}

// Returns the seconds of a run; nothing, and the status with which the tool must end, if it failed or was
// ended.
std::optional<double> run_once(const HeldSignals& held, const std::string& name, const Launch& launch,
                               const std::string& which, Measured measured, int& ends_with) {
    const Input input;
    const MemoryFile kept;
    measured.results.before_run();
    const JobEnd end = run_job(held, launch, input.descriptor(), kept.descriptor());
    ends_with = end.signal;
    if (end.signal != 0) return {};
    const std::string output = kept.content();
    std::optional<double> seconds = end.seconds;
    std::string wrong = end.status != 0 ? print_status(end.status) : measured.results.after_run(output);
    if (wrong.empty() && measured.time.is_printed()) {
        seconds = measured.time.find(output);
        if (!seconds) wrong = "no line of its output has a time above 0 that matches --time";
    }
    if (wrong.empty()) return seconds;
    print_message("lapwing compare: {}, in {}: {}\n", name, which, wrong);
    if (end.status != 0) print_end(output);
    ends_with = violations_found << 8;
    return {};
}

// Reads and removes the files of the ranks of one run.
void take_times(const std::string& directory, Timed& timed) {
    double longest = 0;
    double of_all = 0;
    bool any = false;
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
        double seconds = 0;
        double processor = 0;
        if (std::ifstream(entry.path()) >> seconds >> processor) {
            any = true;
            longest = std::max(longest, seconds);
            of_all += processor;
        }
        std::filesystem::remove(entry.path());
    }
    if (!any) return;
    timed.seconds.push_back(longest);
    timed.processor.push_back(of_all);
}

bool all_narrow_enough(const std::vector<Variant>& variants, double within) {
    return std::all_of(variants.begin() + 1, variants.end(), [&](const Variant& variant) {
        return narrow_enough(ratios(variants.front(), variant), within);
    });
}

}  // namespace

std::vector<double> ratios(const Variant& native, const Variant& variant) {
    std::vector<double> result;
    for (std::size_t round = 0; round < variant.seconds.size(); ++round)
        result.push_back(variant.seconds[round] / native.seconds[round]);
    return result;
}

int run_rounds(const HeldSignals& held, std::vector<Variant>& variants, const RunLimits& limits,
               Measured measured) {
    const std::size_t uncounted = limits.warm_up ? 1 : 0;
    const std::size_t rounds = limits.rounds + uncounted;
    ProgressBar bar(static_cast<double>(variants.size() * rounds));
    const auto started = std::chrono::steady_clock::now();
    std::vector<double> of_round(variants.size());
    std::size_t runs = 0;
    int ends_with = 0;
    run_in_turns(variants.size(), rounds, [&](std::size_t number, std::size_t round) {
        const std::string which = round < uncounted ? "the round before those that count"
                                                    : fmt::format("round {}", round - uncounted + 1);
        const std::optional<double> seconds =
            run_once(held, variants[number].name, variants[number].launch, which, measured, ends_with);
        if (!seconds) return false;
        of_round[number] = *seconds;
        bar.advance(1);
        if (++runs % variants.size() != 0 || round < uncounted) return true;
        for (std::size_t i = 0; i < variants.size(); ++i) variants[i].seconds.push_back(of_round[i]);
        const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - started;
        const double of_next = elapsed.count() / static_cast<double>(round + 1);
        const bool has_time = limits.seconds <= 0 || elapsed.count() + of_next <= limits.seconds;
        return has_time && !all_narrow_enough(variants, limits.within);
    });
    return ends_with;
}

int run_timed(const HeldSignals& held, std::vector<Variant>& variants, std::size_t rounds,
              const std::string& directory, Measured measured) {
    ProgressBar bar(static_cast<double>(variants.size() * rounds));
    int ends_with = 0;
    run_in_turns(variants.size(), rounds, [&](std::size_t number, std::size_t round) {
        Variant& variant = variants[number];
        const std::string which = fmt::format("timed round {}", round + 1);
        if (!run_once(held, variant.name, variant.timed_launch, which, measured, ends_with)) return false;
        take_times(directory, variant.timed);
        bar.advance(1);
        return true;
    });
    return ends_with;
}

}  // namespace lapwing::tool
