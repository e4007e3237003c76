#include "command_line/command_line.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/error.hpp"
#include "base/settings.hpp"
#include "base/values.hpp"

namespace lapwing {
namespace {

constexpr std::size_t column_of_meanings = 28;

// Of --help: the terminal's, within bounds.
std::size_t width_of_help() {
    constexpr std::size_t usual = 80;
    winsize size{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return usual;
    return std::clamp<std::size_t>(size.ws_col, usual, 120);
}

}  // namespace

std::string wrap(const std::string& text, std::size_t width, const std::string& between) {
    std::string result;
    std::size_t length = 0;  // of the line
    for (const std::string_view part : split(text, ' ')) {
        std::string word(part);
        // A long list is broken behind a comma.
        for (std::size_t comma; word.size() > width && (comma = word.rfind(',', width - 1)) < word.size();) {
            result += (length > 0 ? between : "") + word.substr(0, comma + 1);
            word.erase(0, comma + 1);
            length = width;
        }
        if (length > 0 && length + 1 + word.size() > width) {
            result += between + word;
            length = word.size();
        } else {
            result += (length > 0 ? " " : "") + word;
            length += (length > 0 ? 1 : 0) + word.size();
        }
    }
    return result;
}

namespace {

// Lines that follow each other are one paragraph; what is indented is a command, and stays one when it is
// broken.
std::string wrap_paragraphs(const std::string& text) {
    const std::size_t width = width_of_help();
    std::string result;
    std::string paragraph;
    const auto end_paragraph = [&] {
        if (!paragraph.empty()) result += wrap(paragraph, width, "\n") + "\n";
        paragraph.clear();
    };
    for (const std::string_view part : split(text, '\n')) {
        const std::string line(part);
        if (!line.empty() && !line.starts_with(' ')) {
            paragraph += (paragraph.empty() ? "" : " ") + line;
            if (line.ends_with(':')) end_paragraph();
            continue;
        }
        end_paragraph();
        result += (line.empty() ? "" : "  " + wrap(line.substr(2), width - 8, " \\\n      ")) + "\n";
    }
    end_paragraph();
    return result;
}

class HelpFormatter : public CLI::Formatter {
  public:
    explicit HelpFormatter(std::string usage = "") : usage_(std::move(usage)) {
        column_width(column_of_meanings);
    }
    std::string make_usage(const CLI::App* app, std::string name) const override {
        return usage_.empty() ? CLI::Formatter::make_usage(app, name) : wrap_paragraphs(usage_);
    }
    std::string make_description(const CLI::App* app) const override {
        return wrap_paragraphs(app->get_description());
    }
    std::string make_footer(const CLI::App* app) const override { return wrap_paragraphs(app->get_footer()); }
    std::string make_subcommand(const CLI::App* app) const override {
        return in_columns("  " + app->get_name(), app->get_description());
    }
    std::string make_option(const CLI::Option* option, bool positional) const override {
        const bool may_be_left_out = option->get_expected_min() == 0 && option->get_expected_max() == 1;
        std::string value = option->get_expected_max() == 0 ? "" : option->get_type_name();
        if (may_be_left_out && !value.empty()) value = "[" + value + "]";
        const std::string name = make_option_name(option, positional);
        std::string meaning = option->get_description();
        const std::string usual = may_be_left_out ? "" : option->get_default_str();
        if (!usual.empty() && !value.empty()) meaning += " (default " + usual + ")";
        return in_columns("  " + name + (value.empty() ? "" : " " + value), meaning);
    }

  private:
    static std::string in_columns(const std::string& name, const std::string& meaning) {
        const std::string new_line = "\n" + std::string(column_of_meanings, ' ');
        const bool fits = name.size() + 2 <= column_of_meanings;
        return name + (fits ? std::string(column_of_meanings - name.size(), ' ') : new_line) +
               wrap(meaning, width_of_help() - column_of_meanings, new_line) + "\n";
    }

    std::string usage_;
};

}  // namespace

CommandLineOption* CommandLineOption::type_name(const std::string& name) {
    option_->type_name(name);
    return this;
}

CommandLineOption* CommandLineOption::required() {
    option_->required();
    return this;
}

CommandLineOption* CommandLineOption::take_all() {
    option_->take_all();
    return this;
}

CommandLineOption* CommandLineOption::group(const std::string& name) {
    option_->group(name);
    return this;
}

// Without a description: the type's name says what there is. CLI11's own checks and conversions take "nan",
// "0x10" and, for numbers without a sign, "-1".
CommandLineOption* CommandLineOption::check(Check check) {
    if (!check_)
        option_->check([this](const std::string& value) { return check_(option_->get_name(), value), ""; },
                       "");
    check_ = std::move(check);
    return this;
}

CommandLineOption* CommandLineOption::range(int min, int max) {
    return check([=](const auto& name, const auto& value) {
        number_in(name, value, static_cast<std::uint64_t>(min), static_cast<std::uint64_t>(max));
    });
}

CommandLineOption* CommandLineOption::range(double min, double max) {
    return check([=](const auto& name, const auto& value) { real_in(name, value, min, max); });
}

CommandLineOption* CommandLineOption::choices(const std::vector<std::string>& valid) {
    std::string words;  // for --help
    for (const std::string& word : valid) words += (words.empty() ? "" : "|") + word;
    option_->type_name(words);
    return check([=](const auto& name, const auto& value) { check_word(name, value, valid); });
}

CommandLineOption* CommandLineOption::values(int count) {
    option_->expected(count);
    return this;
}

CommandLineOption* CommandLineOption::optional_value(const std::string& alone) {
    option_->expected(0, 1)->default_str(alone);
    return this;
}

CommandLineOption* CommandLineOption::show_default() {
    option_->capture_default_str();
    return this;
}

CommandLine::CommandLine(const std::string& name, const std::string& about)
    : own_(std::make_unique<CLI::App>(about, name)), app_(own_.get()) {
    app_->formatter(std::make_shared<HelpFormatter>());
    remember(app_->get_help_ptr());
}

CommandLine::CommandLine(CLI::App* app) : app_(app) {
    remember(app_->get_help_ptr());
}

CommandLine::~CommandLine() = default;

CommandLineOption* CommandLine::remember(CLI::Option* option) {
    return &options_.emplace_back(option);
}

template <class Value>
CommandLineOption* CommandLine::add_option(const std::string& names, Value& value, const std::string& about) {
    CommandLineOption* option = remember(app_->add_option(names, value, about));
    constexpr bool is_int = std::is_same_v<Value, int> || std::is_same_v<Value, std::optional<int>> ||
                            std::is_same_v<Value, std::vector<int>>;
    if constexpr (is_int) return option->range(0, std::numeric_limits<int>::max());
    if constexpr (std::is_same_v<Value, std::uint64_t>) {
        return option->check(
            [](const auto& name, const auto& text) { number_in(name, text, 0, UINT64_MAX); });
    }
    if constexpr (std::is_same_v<Value, double>)
        return option->range(0.0, std::numeric_limits<double>::max());
    return option->check([](const auto& name, const auto& text) {
        if (text.empty()) throw_invalid(name + " must not be empty");
    });
}

template CommandLineOption* CommandLine::add_option(const std::string&, std::string&, const std::string&);
template CommandLineOption* CommandLine::add_option(const std::string&, std::vector<std::string>&,
                                                    const std::string&);
template CommandLineOption* CommandLine::add_option(const std::string&, std::vector<int>&,
                                                    const std::string&);
template CommandLineOption* CommandLine::add_option(const std::string&, int&, const std::string&);
template CommandLineOption* CommandLine::add_option(const std::string&, std::optional<int>&,
                                                    const std::string&);
template CommandLineOption* CommandLine::add_option(const std::string&, std::uint64_t&, const std::string&);
template CommandLineOption* CommandLine::add_option(const std::string&, double&, const std::string&);

namespace {

// CLI11 gives a flag without a value "true".
void refuse_value_of_flag(const std::string& name, const std::string& value) {
    if (value != "true") throw_invalid(name + " takes no value, not '" + value + "'");
}

}  // namespace

CommandLineOption* CommandLine::add_flag(const std::string& names, bool& value, const std::string& about) {
    return remember(app_->add_flag(names, value, about))->check(refuse_value_of_flag);
}

CommandLineOption* CommandLine::add_flag(const std::string& names, const std::function<void()>& given,
                                         const std::string& about) {
    return remember(app_->add_flag_callback(names, given, about))->check(refuse_value_of_flag);
}

void CommandLine::add_version_flag(const std::string& text) {
    remember(app_->set_version_flag("--version", text));
}

CommandLine* CommandLine::add_subcommand(const std::string& name, const std::string& about) {
    subcommands_.emplace_back(new CommandLine(app_->add_subcommand(name, about)));
    return subcommands_.back().get();
}

CommandLine* CommandLine::group(const std::string& name) {
    app_->group(name);
    return this;
}

void CommandLine::begin_group(const std::string& name) {
    app_->option_defaults()->group(name);
}

void CommandLine::footer(const std::string& text) {
    app_->footer(text);
}

void CommandLine::usage(const std::string& line) {
    app_->formatter(std::make_shared<HelpFormatter>(line));
}

void CommandLine::allow_extras() {
    app_->allow_extras();
}

void CommandLine::prefix_command() {
    app_->prefix_command();
}

std::optional<std::string> CommandLine::parse(std::vector<std::string> words) {
    std::reverse(words.begin(), words.end());  // as CLI11 wants them
    try {
        app_->parse(words);
    } catch (const CLI::CallForHelp&) {
        return app_->help();
    } catch (const CLI::CallForVersion& version) {
        return version.what() + std::string("\n");
    } catch (const CLI::ParseError& error) {
        throw_invalid(error.what());
    }
    return std::nullopt;
}

bool CommandLine::parsed() const {
    return app_->parsed();
}

std::vector<const CommandLine*> CommandLine::parsed_subcommands() const {
    std::vector<const CommandLine*> named;
    for (const CLI::App* app : app_->get_subcommands()) {
        for (const auto& subcommand : subcommands_) {
            if (subcommand->app_ == app) named.push_back(subcommand.get());
        }
    }
    return named;
}

std::vector<std::string> CommandLine::remaining() const {
    return app_->remaining();
}

std::size_t CommandLine::count(const std::string& option) const {
    return app_->count(option);
}

std::string CommandLine::name() const {
    return app_->get_name();
}

std::string CommandLine::about() const {
    return app_->get_description();
}

std::string CommandLine::group() const {
    return app_->get_group();
}

std::string CommandLine::help() const {
    // CLI11's help() is that of the subcommand that was parsed.
    return app_->get_formatter()->make_help(app_, app_->get_name(), CLI::AppFormatMode::Normal);
}

std::vector<std::string> CommandLine::option_names() const {
    std::vector<std::string> names;
    for (const CommandLineOption& option : options_) {
        for (const std::string& name : option.option_->get_lnames()) names.push_back("--" + name);
        for (const std::string& name : option.option_->get_snames()) names.push_back("-" + name);
    }
    return names;
}

CommandLine& CommandLine::subcommand(const std::string& name) {
    const CLI::App* app = app_->get_subcommand(name);
    return **std::find_if(subcommands_.begin(), subcommands_.end(),
                          [&](const auto& each) { return each->app_ == app; });
}

}  // namespace lapwing
