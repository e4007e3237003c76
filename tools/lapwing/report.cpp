// lapwing report: one page from the results of `lapwing bench`. A Python program beside the tool makes the
// page.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <memory>

#include "base/error.hpp"
#include "command_line/command_line.hpp"
#include "lapwing/common/command.hpp"
#include "lapwing/common/process.hpp"
#include "lapwing/launch/launch.hpp"
#include "lapwing/mpi/family.hpp"

namespace lapwing::tool {
namespace {

struct Options {
    std::vector<std::string> files;
    std::string output;
    std::string title;
    std::string vega;
};

std::string find_program_directory() {
    std::vector<std::string> searched;
    const auto program = find_installed(
        {LAPWING_INSTALL_LIBEXECDIR "/lapwing/report", "libexec/lapwing/report"}, "__main__.py", searched);
    if (program) return std::filesystem::path(*program).parent_path();
    throw_invalid(
        fmt::format("the program that writes the page is not installed in {}", fmt::join(searched, ", ")));
}

int make_page(const Options& options) {
    if (options.files.empty()) {
        throw_invalid("no file given; for example: lapwing report overlap.json -o report.html");
    }
    if (options.output.empty()) {
        throw_invalid("-o is missing: the page's file, such as report.html");
    }
    const std::optional<std::string> python = find_program("python3");
    if (!python) {
        throw_invalid("python3, which writes the page, is not on PATH (Debian: apt-get install python3)");
    }
    Launch launch;
    // Isolated from the user's own modules, and leaving no compiled ones behind.
    launch.words = {*python, "-I", "-B", find_program_directory(), "--output", options.output};
    if (!options.title.empty()) launch.words.insert(launch.words.end(), {"--title", options.title});
    if (!options.vega.empty()) launch.words.insert(launch.words.end(), {"--vega", options.vega});
    launch.words.emplace_back("--");
    launch.words.insert(launch.words.end(), options.files.begin(), options.files.end());
    execute(launch);
}

}  // namespace

Command add_report(CommandLine& tool) {
    auto options = std::make_shared<Options>();
    CommandLine* app =
        tool.add_subcommand("report", "Create an HTML page from results, or a picture from timelines");
    app->usage("Usage: lapwing report FILE|DIRECTORY... -o FILE [OPTIONS]");
    app->add_option("files", options->files,
                    "Results of `lapwing bench --json` and `lapwing predict --json`; for a directory, all "
                    "*.json files in it and in its subdirectories; or timelines, if -o ends in .svg")
        ->type_name("FILE|DIRECTORY");
    app->add_option("-o,--output", options->output, "Write the page to FILE; - for standard output")
        ->type_name("FILE");
    app->add_option("--title", options->title, "The page's title")->type_name("TEXT");
    app->add_option("--vega", options->vega, "Directory with the files of Debian's package libjs-vega")
        ->type_name("DIR");
    app->footer(
        "Examples:\n"
        "  lapwing bench overlap --json -o overlap.json -- mpirun -n 2\n"
        "  lapwing report overlap.json -o report.html\n"
        "  lapwing report results/ --title 'Our cluster' -o report.html\n"
        "  lapwing report native.json lapwing.json -o timelines.svg\n"
        "\n"
        "The page is one file that needs no network: plots and tables. Creating it needs python3 and "
        "libjs-vega; viewing\n"
        "it needs a browser. The exit status is 0; 1 if files of a directory were skipped, with the reason "
        "for each; 125 if\n"
        "no page was written.");
    return {app, [options] { return make_page(*options); }};
}

}  // namespace lapwing::tool
