#include "lapwing/common/command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <memory>

#include "base/error.hpp"

namespace lapwing::tool {
namespace {

class WordsFormatter : public CLI::Formatter {
  public:
    explicit WordsFormatter(std::string usage) : usage_(std::move(usage)) {}
    std::string make_usage(const CLI::App*, std::string) const override { return usage_ + "\n"; }

  private:
    std::string usage_;
};

}  // namespace

void show_usage(CLI::App& app, const std::string& usage) {
    app.formatter(std::make_shared<WordsFormatter>(usage));
    app.get_formatter()->column_width(32);
}

void add_launch_options(CLI::App& app, std::string& mpi, bool& dry_run, const char* mpis) {
    app.add_option("--mpi", mpi, mpis)->type_name("M");
    app.add_flag("--dry-run", dry_run, "Print the command without running it");
}

void require_words(const CLI::App& app, const Words& words, const char* what, const char* begin,
                   const char* none, const char* example) {
    const std::vector<std::string> rest = app.remaining();
    if (!rest.empty()) {
        throw Error(ErrorCode::invalid_argument, fmt::format("'--' is missing before the {}: {} -- {}", what,
                                                             begin, fmt::join(rest, " ")));
    }
    if (!words.words.empty()) return;
    throw Error(ErrorCode::invalid_argument, fmt::format("{}, as in: {} -- {}", none, begin, example));
}

}  // namespace lapwing::tool
