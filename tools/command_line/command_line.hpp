// The command line of a program: subcommands, options and --help. CLI11 does the work. Its header takes nine
// seconds to compile, therefore only command_line.cpp includes it.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace lapwing {

// Breaks a text at blanks; `between` ends each line but the last and begins the next one.
std::string wrap(const std::string& text, std::size_t width, const std::string& between);

// An option, a flag or a positional argument. Functions that change it return it: calls can be chained.
class CommandLineOption {
  public:
    explicit CommandLineOption(CLI::Option* option) : option_(option) {}

    CommandLineOption* type_name(const std::string& name);  // the name of the value in --help
    CommandLineOption* required();
    CommandLineOption* take_all();                      // it may be repeated
    CommandLineOption* group(const std::string& name);  // under a heading of its own; "" hides it
    // Other values are errors. Without a range, numbers are not negative, and texts not empty.
    CommandLineOption* range(int min, int max);  // from 0 on
    CommandLineOption* range(double min, double max);
    CommandLineOption* choices(const std::vector<std::string>& valid);
    CommandLineOption* values(int count);  // the exact number of values
    // The value may be left out, and is `alone` then.
    CommandLineOption* optional_value(const std::string& alone);
    CommandLineOption* show_default();  // --help prints the variable's value

  private:
    friend class CommandLine;
    // Throws Error (invalid_argument) that names the option.
    using Check = std::function<void(const std::string& name, const std::string& value)>;
    CommandLineOption* check(Check check);  // in place of an earlier one

    CLI::Option* option_;
    Check check_;
};

// A command line, or the part after the name of a subcommand. Options refer to variables of the caller, which
// must live until parse() has set them.
class CommandLine {
  public:
    CommandLine(const std::string& name, const std::string& about);
    ~CommandLine();
    CommandLine(const CommandLine&) = delete;
    CommandLine& operator=(const CommandLine&) = delete;

    // `names`: "-o,--output", or "FILE" for a positional argument. Values are texts, lists of them, whole and
    // real numbers; command_line.cpp has them all. A subcommand and its options belong to this command line.
    template <class Value>
    CommandLineOption* add_option(const std::string& names, Value& value, const std::string& about = "");
    CommandLineOption* add_flag(const std::string& names, bool& value, const std::string& about = "");
    CommandLineOption* add_flag(const std::string& names, const std::function<void()>& given,
                                const std::string& about);
    void add_version_flag(const std::string& text);
    CommandLine* add_subcommand(const std::string& name, const std::string& about);

    CommandLine* group(const std::string& name);  // under a heading of its own; "" hides it
    // The heading of all options that are added from now on.
    void begin_group(const std::string& name);
    void footer(const std::string& text);  // of --help
    void usage(const std::string& line);   // of --help, in place of CLI11's
    void allow_extras();                   // remaining() returns unknown words
    void prefix_command();                 // remaining() returns all words from the first that is no option

    // Sets the variables. Returns the text to print for --help and --version; the caller then does nothing
    // else. Throws Error (invalid_argument).
    std::optional<std::string> parse(std::vector<std::string> words);

    // After parse().
    bool parsed() const;  // the subcommand was named
    std::vector<const CommandLine*> parsed_subcommands() const;
    std::vector<std::string> remaining() const;
    std::size_t count(const std::string& option) const;  // how often it was given

    std::string name() const;
    std::string about() const;
    std::string group() const;
    std::string help() const;
    std::vector<std::string> option_names() const;  // "--output", "-o"; --help among them
    const std::vector<std::unique_ptr<CommandLine>>& subcommands() const { return subcommands_; }
    CommandLine& subcommand(const std::string& name);  // one that exists

  private:
    explicit CommandLine(CLI::App* app);
    CommandLineOption* remember(CLI::Option* option);

    std::unique_ptr<CLI::App> own_;  // of a whole command line
    CLI::App* app_;
    std::deque<CommandLineOption> options_;
    std::vector<std::unique_ptr<CommandLine>> subcommands_;
};

}  // namespace lapwing
