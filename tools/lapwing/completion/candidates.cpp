#include "lapwing/completion/candidates.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>

#include "engines/catalogue.hpp"
#include "lapwing/mpi/family.hpp"
#include "task/problem.hpp"

namespace lapwing::tool {
namespace {

const CLI::App* subcommand(const CLI::App& app, const std::string& name) {
    for (const CLI::App* nested : app.get_subcommands(nullptr)) {
        if (nested->get_name() == name) return nested;
    }
    return nullptr;
}

const CLI::Option* option(const CLI::App& app, const std::string& word) {
    if (!word.starts_with("-")) return nullptr;
    for (const CLI::Option* option : app.get_options()) {
        if (option->check_name(word)) return option;
    }
    return nullptr;
}

std::string first_line(const std::string& text) {
    return text.substr(0, text.find('\n'));
}

void add_subcommands(const CLI::App& app, Completion& completion) {
    for (const CLI::App* nested : app.get_subcommands(nullptr)) {
        if (!nested->get_group().empty())
            completion.candidates.push_back({nested->get_name(), first_line(nested->get_description())});
    }
}

void add_options(const CLI::App& app, Completion& completion) {
    for (const CLI::Option* option : app.get_options()) {
        if (option->get_group().empty() || option->get_positional()) continue;
        for (const std::string& name : option->get_lnames())
            completion.candidates.push_back({"--" + name, first_line(option->get_description())});
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

Completion complete(const CLI::App& tool, const std::vector<std::string>& words) {
    Completion completion;
    const CLI::App* app = &tool;
    const CLI::Option* awaits_value = nullptr;
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
        const std::string& word = words[i];
        if (word == "--") {
            completion.rest = Completion::Rest::command;
            completion.command_at = i + 1;
            return completion;
        }
        if (awaits_value != nullptr) {
            awaits_value = nullptr;
        } else if (const CLI::Option* const named = option(*app, word); named != nullptr) {
            if (named->get_expected_min() > 0) awaits_value = named;
        } else if (const CLI::App* const nested = subcommand(*app, word); nested != nullptr) {
            app = nested;
        }
    }
    const std::string written = words.empty() ? "" : words.back();
    if (awaits_value != nullptr) {
        add_values(awaits_value->get_type_name(), completion);
    } else if (written.starts_with("-")) {
        add_options(*app, completion);
    } else {
        add_subcommands(*app, completion);
        for (const CLI::Option* positional : app->get_options()) {
            if (positional->get_positional()) add_values(positional->get_name(true), completion);
        }
    }
    std::erase_if(completion.candidates,
                  [&](const Candidate& candidate) { return !candidate.word.starts_with(written); });
    return completion;
}

}  // namespace lapwing::tool
