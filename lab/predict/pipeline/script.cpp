// A pipeline in a text file:
//   # a comment
//   repeat 10
//     start halo ineighbor_alltoall 32Ki
//     compute 1ms
//     wait halo
//   end
// A block may be `bytes`, what --bytes says; behind a block or a time, "/ranks" divides it by the number of
// ranks, as often as it is there.
#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "base/error.hpp"
#include "base/values.hpp"
#include "lapwing/common/values.hpp"
#include "predict/collectives.hpp"
#include "predict/pipeline/pipeline.hpp"

namespace lapwing::tool {
namespace {

constexpr std::string_view per_rank = "/ranks";
constexpr int max_repetitions = 100000;
constexpr std::size_t max_lines = 200000;

using Words = std::vector<std::string>;

class Script {
  public:
    Script(const PipelineOptions& options, int ranks, std::uint64_t bytes)
        : name_(options.written), ranks_(ranks), bytes_(bytes) {
        std::istringstream text(options.script);
        std::string line;
        while (std::getline(text, line)) {
            std::istringstream words(line.substr(0, line.find('#')));
            Words& row = lines_.emplace_back();
            for (std::string word; words >> word;) row.push_back(word);
        }
    }

    Pipeline run() {
        line_ = 0;
        while (line_ < lines_.size()) {
            if (!lines_[line_].empty() && lines_[line_][0] == "end") refuse("'end' without 'repeat'");
            step();
        }
        for (std::size_t i = 0; i < names_.size(); ++i) {
            if (open_[i]) {
                line_ = starts_[i];
                refuse(fmt::format("'{}' is never waited for", names_[i]));
            }
        }
        if (pipeline_.operations.empty())
            throw Error(ErrorCode::parse, name_ + ": the file starts no collective");
        return std::move(pipeline_);
    }

  private:
    [[noreturn]] void refuse(const std::string& why) const {
        throw Error(ErrorCode::parse, fmt::format("{}:{}: {}", name_, line_ + 1, why));
    }

    // Of what throws without the line's number.
    template <class Function>
    auto here(Function function) const {
        try {
            return function();
        } catch (const Error& error) {
            refuse(error.what());
        }
    }

    void need(const Words& words, std::size_t least, std::size_t most, const char* form) const {
        if (words.size() < least || words.size() > most)
            refuse(fmt::format("the line must have the form: {}", form));
    }

    void step() {
        static const std::string kinds[] = {"start", "compute", "wait", "repeat", "end"};
        const Words words = lines_[line_];
        if (++steps_ > max_lines)
            refuse(fmt::format("more than {} lines to execute, with repetitions", max_lines));
        if (words.empty()) {
            ++line_;
            return;
        }
        switch (here([&] { return pick("step", words[0], kinds); })) {
            case 0:
                start(words);
                break;
            case 1:
                need(words, 2, 2, "compute 2ms");
                pipeline_.compute(here([&] {
                    const auto [value, parts] = divided(words[1]);
                    return read_time("compute", value) / parts;
                }));
                break;
            case 2:
                wait(words);
                break;
            case 3:
                repeat(words);
                break;
            default:
                break;
        }
        ++line_;
    }

    void repeat(const Words& words) {
        need(words, 2, 2, "repeat 10");
        const auto times = here([&] { return number_in("repeat", words[1], 1, max_repetitions); });
        const std::size_t first = line_ + 1;
        for (int i = 0; i < static_cast<int>(times); ++i) {
            line_ = first;
            while (line_ < lines_.size() && (lines_[line_].empty() || lines_[line_][0] != "end")) step();
            if (line_ == lines_.size()) {
                line_ = first - 1;
                refuse("'repeat' without 'end'");
            }
        }
    }

    // "64Mi/ranks/ranks"
    std::pair<std::string, double> divided(std::string written) const {
        double parts = 1;
        while (written.ends_with(per_rank)) {
            written.resize(written.size() - per_rank.size());
            parts *= ranks_;
        }
        return {written, parts};
    }

    void start(const Words& words) {
        need(words, 3, 4, "start NAME COLLECTIVE BYTES");
        const Collective collective = here([&] { return read_collective(words[2]); });
        std::uint64_t bytes = 0;
        if (collective != Collective::barrier) {
            need(words, 4, 4, "start NAME COLLECTIVE BYTES");
            const auto [value, parts] = divided(words[3]);
            const std::uint64_t whole =
                value == "bytes" ? bytes_
                                 : here([&, number = value] { return read_bytes(words[0], number); });
            bytes = static_cast<std::uint64_t>(std::max(static_cast<double>(whole) / parts, 1.0));
        } else {
            need(words, 3, 3, "start NAME barrier");
        }
        const std::size_t request = request_of(words[1]);
        if (open_[request]) refuse(fmt::format("'{}' is started again before it is waited for", words[1]));
        open_[request] = true;
        starts_[request] = line_;
        pipeline_.add(
            simulate::start(pipeline_.operation(here([&] { return problem_on(collective, ranks_, bytes); })),
                            static_cast<int>(request)));
    }

    void wait(const Words& words) {
        need(words, 2, 2, "wait NAME");
        const std::size_t request = request_of(words[1]);
        if (!open_[request]) refuse(fmt::format("'{}' is waited for before it is started", words[1]));
        open_[request] = false;
        pipeline_.add(simulate::wait(static_cast<int>(request)));
    }

    std::size_t request_of(const std::string& name) {
        const auto found = std::find(names_.begin(), names_.end(), name);
        if (found != names_.end()) return static_cast<std::size_t>(found - names_.begin());
        names_.push_back(name);
        open_.push_back(false);
        starts_.push_back(0);
        return names_.size() - 1;
    }

    const std::string name_;
    const int ranks_;
    const std::uint64_t bytes_;
    std::vector<Words> lines_;
    std::size_t line_ = 0;
    std::size_t steps_ = 0;
    std::vector<std::string> names_;  // of requests
    std::vector<bool> open_;
    std::vector<std::size_t> starts_;
    Pipeline pipeline_;
};

}  // namespace

Pipeline make_script(const PipelineOptions& options, int ranks, std::uint64_t bytes) {
    return Script(options, ranks, bytes).run();
}

bool follows_bytes(const PipelineOptions& options) {
    return !options.script.empty() && options.script.find("bytes") != std::string::npos;
}

}  // namespace lapwing::tool
