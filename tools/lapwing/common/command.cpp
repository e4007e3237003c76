#include "lapwing/common/command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.hpp"
#include "base/messages.hpp"
#include "base/nearest_name.hpp"
#include "base/output_file.hpp"
#include "command_line/command_line.hpp"

namespace lapwing::tool {
void add_launch_options(CommandLine& app, std::string& mpi, bool& dry_run, const char* mpis) {
    app.begin_group("Launch");
    app.add_option("--mpi", mpi, mpis)->type_name("M");
    app.add_flag("--dry-run", dry_run, "Print the command without running it");
}

void require_words(const CommandLine& app, const Words& words, const char* what, const char* begin,
                   const char* none, const char* example) {
    const std::vector<std::string> rest = app.remaining();
    if (!rest.empty()) {
        throw_invalid(
            fmt::format("'--' is missing before the {}: {} -- {}", what, begin, fmt::join(rest, " ")));
    }
    if (!words.words.empty()) return;
    throw_invalid(fmt::format("{}, as in: {} -- {}", none, begin, example));
}

void refuse_unknown_options(const CommandLine& options, bool extra_words_allowed) {
    const std::vector<std::string> unknown = options.remaining();
    if (unknown.empty()) return;
    const std::string word = unknown.front().substr(0, unknown.front().find('='));
    if (!word.starts_with("-")) {
        if (extra_words_allowed) return;
        throw_invalid(fmt::format("unexpected argument '{}'", word));
    }
    throw_invalid(fmt::format("unknown option '{}'{}", word, suggestion(word, options.option_names())));
}

void refuse_given(const CommandLine& app, std::initializer_list<const char*> options,
                  const std::string& why) {
    for (const char* option : options) {
        if (app.count(option) > 0) throw_invalid(fmt::format("{} {}", option, why));
    }
}

void require_output_of_json(bool json, const std::string& output) {
    if (json && output.empty()) throw_invalid("--json needs --output FILE: standard output is the program's");
}

void write_measured(const std::string& file, const std::string& text, const char* what) {
    try {
        write_file(file, text, what);
    } catch (const std::exception&) {
        print_message("{}", text);
        throw;
    }
}

}  // namespace lapwing::tool
