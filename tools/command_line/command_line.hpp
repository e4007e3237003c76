// What a program reads from its command line: subcommands, options, and what --help says of them. CLI11 does
// the work. Whoever includes its header compiles all of it, for nine seconds: so only command_line.cpp does.
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

// An option, a flag or a positional argument. What changes it gives the option itself, so calls can be
// chained.
class CommandLineOption {
  public:
    explicit CommandLineOption(CLI::Option* option) : option_(option) {}

    CommandLineOption* type_name(const std::string& name);  // what --help calls the value
    CommandLineOption* required();
    CommandLineOption* take_all();                        // it may be repeated
    CommandLineOption* group(const std::string& name);    // under a heading of its own; "" hides it
    CommandLineOption* range(int least, int most);        // other values are refused
    CommandLineOption* range(double least, double most);  // as above
    CommandLineOption* choices(const std::vector<std::string>& valid);
    CommandLineOption* values(int count);  // it takes exactly so many
    CommandLineOption* show_default();     // --help names what the variable holds

    std::size_t count() const;  // how often it was given
    bool positional() const;
    bool hidden() const;
    bool takes_value() const;
    bool has_name(const std::string& word) const;  // with its dashes
    std::string name() const;                      // of a positional argument
    std::vector<std::string> long_names() const;   // without dashes
    std::vector<std::string> short_names() const;
    std::string type() const;
    std::string about() const;

  private:
    CLI::Option* option_;
};

// A command line, or what follows the name of a subcommand. Options refer to variables of the caller's, which
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
    void footer(const std::string& text);         // of --help
    void usage(const std::string& line);          // of --help, in place of what CLI11 makes of the options
    void allow_extras();                          // unknown words are kept, see remaining()
    void prefix_command();                        // everything after the first word that is no option is kept

    // Sets the variables. Gives the text to print where --help or --version asks for one and nothing else is
    // to be done. Throws Error (invalid_argument).
    std::optional<std::string> parse(std::vector<std::string> words);

    // After parse().
    bool parsed() const;  // the subcommand was named
    std::vector<const CommandLine*> parsed_subcommands() const;
    std::vector<std::string> remaining() const;
    std::size_t count(const std::string& option) const;  // how often it was given

    std::string name() const;
    std::string about() const;
    std::string footer() const;
    std::string group() const;
    std::string help() const;
    const std::deque<CommandLineOption>& options() const { return options_; }  // --help among them
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
