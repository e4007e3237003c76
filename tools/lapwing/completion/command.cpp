// lapwing completion: what makes a shell complete lapwing's command lines. The scripts ask the tool itself,
// by `lapwing complete WORD...`, what may follow.
#include <fmt/format.h>

#include <memory>

#include "base/error.hpp"
#include "base/nearest_name.hpp"
#include "command_line/command_line.hpp"
#include "lapwing/common/command.hpp"
#include "lapwing/completion/candidates.hpp"

namespace lapwing::tool {
namespace {

// Where the words belong to another program its own completion takes over, if the shell has one.
constexpr const char* bash = R"shell(# lapwing's completion for bash.
_lapwing() {
    local candidates rest
    # What stands after the cursor does not count; COMP_WORDS has "=" and ":" apart, which is enough here.
    candidates=$("${COMP_WORDS[0]}" complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2> /dev/null) || return
    rest=${candidates%%$'\n'*}
    case $rest in
        command:*)
            if declare -F _command_offset > /dev/null; then
                _command_offset $((${rest#command:} + 1))
            else
                compopt -o default
            fi
            return ;;
        files) compopt -o default ;;
    esac
    local IFS=$'\n'
    COMPREPLY=($(printf '%s\n' "$candidates" | tail -n +2 | cut -f 1))
}
complete -F _lapwing lapwing
)shell";

constexpr const char* zsh = R"shell(#compdef lapwing
# lapwing's completion for zsh.
_lapwing() {
    local -a lines candidates
    local rest line
    lines=("${(@f)$("${words[1]}" complete "${(@)words[2,CURRENT]}" 2> /dev/null)}")
    rest=${lines[1]}
    if [[ $rest == command:* ]]; then
        shift $((${rest#command:} + 1)) words
        ((CURRENT -= ${rest#command:} + 1))
        _normal
        return
    fi
    for line in "${(@)lines[2,-1]}"; do
        [[ -n $line ]] || continue
        candidates+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
    done
    ((${#candidates})) && _describe lapwing candidates
    [[ $rest == files ]] && _files
}
if [[ $funcstack[1] == _lapwing ]]; then _lapwing "$@"; else compdef _lapwing lapwing; fi
)shell";

constexpr const char* fish = R"shell(# lapwing's completion for fish.
function __lapwing_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l lines ($words[1] complete $words[2..-1] 2> /dev/null)
    switch "$lines[1]"
        case 'command:*'
            set -l skipped (string replace command: '' -- $lines[1])
            complete -C "$(string join ' ' -- $words[(math $skipped + 2)..-1])"
        case files
            __fish_complete_path (commandline -ct)
    end
    string join \n -- $lines[2..-1]
end
complete -c lapwing -f -a '(__lapwing_complete)'
)shell";

struct Shell {
    const char* name;
    const char* script;
};
constexpr Shell shells[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};

int print_script(const std::string& name) {
    std::vector<std::string> valid;
    for (const Shell& shell : shells) {
        if (name == shell.name) {
            fmt::print("{}", shell.script);
            return success;
        }
        valid.emplace_back(shell.name);
    }
    throw Error(ErrorCode::invalid_argument,
                fmt::format("no completion for the shell '{}', but for bash, zsh and fish{}", name,
                            suggestion(name, valid)));
}

int print_candidates(const CommandLine& tool, const std::vector<std::string>& words) {
    const Completion completion = complete(tool, words);
    switch (completion.rest) {
        case Completion::Rest::nothing:
            fmt::print("\n");
            break;
        case Completion::Rest::files:
            fmt::print("files\n");
            break;
        case Completion::Rest::command:
            fmt::print("command:{}\n", completion.command_at);
            break;
    }
    for (const Candidate& candidate : completion.candidates)
        fmt::print("{}\t{}\n", candidate.word, candidate.meaning);
    return success;
}

}  // namespace

Command add_completion(CommandLine& tool) {
    auto shell = std::make_shared<std::string>();
    CommandLine* app = tool.add_subcommand("completion", "Print the completion script of a shell");
    app->add_option("SHELL", *shell, "bash, zsh or fish")->required();
    app->footer(
        "Examples:\n"
        "  source <(lapwing completion bash)        in ~/.bashrc\n"
        "  source <(lapwing completion zsh)         in ~/.zshrc, after compinit\n"
        "  lapwing completion fish | source         in ~/.config/fish/config.fish\n"
        "\nAn installed lapwing has them in place already.");
    return {app, [shell] { return print_script(*shell); }};
}

Command add_complete(CommandLine& tool, const Words& words) {
    CommandLine* app = tool.add_subcommand("complete", "Print what may follow on a command line")->group("");
    return {app, [&tool, &words] { return print_candidates(tool, words.words); }, true};
}

}  // namespace lapwing::tool
