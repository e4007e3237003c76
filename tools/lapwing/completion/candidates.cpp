#include "lapwing/completion/candidates.hpp"

#include <algorithm>

#include "command_line/command_line.hpp"
#include "engines/catalogue.hpp"
#include "lapwing/mpi/family.hpp"
#include "task/problem.hpp"

namespace lapwing::tool {
namespace {

const CommandLine* subcommand(const CommandLine& app, const std::string& name) {
    for (const auto& nested : app.subcommands()) {
        if (nested->name() == name) return nested.get();
    }
    return nullptr;
}

const CommandLineOption* option(const CommandLine& app, const std::string& word) {
    if (!word.starts_with("-")) return nullptr;
    for (const CommandLineOption& option : app.options()) {
        if (option.has_name(word)) return &option;
    }
    return nullptr;
}

std::string first_line(const std::string& text) {
    return text.substr(0, text.find('\n'));
}

void add_subcommands(const CommandLine& app, Completion& completion) {
    for (const auto& nested : app.subcommands()) {
        if (!nested->group().empty())
            completion.candidates.push_back({nested->name(), first_line(nested->about())});
    }
}

void add_options(const CommandLine& app, Completion& completion) {
    for (const CommandLineOption& option : app.options()) {
        if (option.hidden() || option.positional()) continue;
        for (const std::string& name : option.long_names())
            completion.candidates.push_back({"--" + name, first_line(option.about())});
    }
}

// By the name of the option's type, or of the positional.
void add_values(const std::string& type, Completion& completion) {
    const auto add = [&](const char* word, const char* meaning) {
        completion.candidates.push_back({word, meaning});
    };
    if (type.starts_with("FILE") || type.starts_with("DIR") || type == "PAGE") {
        completion.rest = Completion::Rest::files;
    } else if (type == "E" || type == "E,...") {
        add("auto", "the first of these that suits");
        for (const Engine* engine : engines()) add(engine->name(), engine->summary());
        add("mpi", "the native MPI");
    } else if (type == "M") {
        for (const MpiFamily& family : mpi_families()) add(family.name, family.title);
    } else if (type == "COLLECTIVE" || type == "C") {
        for (const Collective collective : all_collectives()) add(name(collective), mpi_name(collective));
    } else if (type == "SHELL") {
        for (const char* shell : {"bash", "zsh", "fish"}) add(shell, "");
    }
}

}  // namespace

Completion complete(const CommandLine& tool, const std::vector<std::string>& words) {
    Completion completion;
    const CommandLine* app = &tool;
    const CommandLineOption* awaits_value = nullptr;
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
        const std::string& word = words[i];
        if (word == "--") {
            completion.rest = Completion::Rest::command;
            completion.command_at = i + 1;
            return completion;
        }
        if (awaits_value != nullptr) {
            awaits_value = nullptr;
        } else if (const CommandLineOption* const named = option(*app, word); named != nullptr) {
            if (named->takes_value()) awaits_value = named;
        } else if (const CommandLine* const nested = subcommand(*app, word); nested != nullptr) {
            app = nested;
        }
    }
    const std::string written = words.empty() ? "" : words.back();
    if (awaits_value != nullptr) {
        add_values(awaits_value->type(), completion);
    } else if (written.starts_with("-")) {
        add_options(*app, completion);
    } else {
        add_subcommands(*app, completion);
        for (const CommandLineOption& positional : app->options()) {
            if (positional.positional()) add_values(positional.name(), completion);
        }
    }
    std::erase_if(completion.candidates,
                  [&](const Candidate& candidate) { return !candidate.word.starts_with(written); });
    return completion;
}

}  // namespace lapwing::tool
