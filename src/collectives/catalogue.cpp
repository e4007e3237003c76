#include "collectives/catalogue.hpp"

#include <fmt/format.h>

#include <iterator>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/nearest_name.hpp"
#include "base/values.hpp"
#include "collectives/rows.hpp"
#include "collectives/user_lists.hpp"

namespace lapwing {

namespace {

Algorithm for_collective(Algorithm algorithm, Collective collective, const char* name) {
    algorithm.collective = collective;
    algorithm.name = name;
    return algorithm;
}

const Algorithm& find_algorithm(Collective collective, std::string_view wanted) {
    std::vector<std::string> valid;
    for (const Algorithm* algorithm : algorithms_of(collective)) {
        if (algorithm->name == wanted) return *algorithm;
        valid.emplace_back(algorithm->name);
    }
    if (valid.empty()) throw_invalid(fmt::format("{} has no algorithm yet", name(collective)));
    throw_invalid(
        fmt::format("{} has no algorithm '{}'{}", name(collective), wanted, suggestion(wanted, valid)));
}

void set_parameter(Choice& choice, std::string_view assignment) {
    const Algorithm& algorithm = *choice.algorithm;
    const std::size_t equals = assignment.find('=');
    const std::string_view wanted = assignment.substr(0, equals);
    std::vector<std::string> valid;
    for (std::size_t i = 0; i < algorithm.parameters.size(); ++i) {
        const Parameter& parameter = algorithm.parameters[i];
        valid.emplace_back(parameter.name);
        if (parameter.name != wanted) continue;
        const std::string_view text =
            equals == std::string_view::npos ? std::string_view{} : assignment.substr(equals + 1);
        const auto value = parse_number(text);
        if (!value || std::cmp_less(*value, parameter.min) || std::cmp_greater(*value, parameter.max)) {
            throw_invalid(fmt::format("{}:{} must be a number from {} to {}, not '{}'", algorithm.name,
                                      parameter.name, parameter.min, parameter.max, text));
        }
        choice.parameters[i] = static_cast<std::int64_t>(*value);
        return;
    }
    if (valid.empty())
        throw_invalid(fmt::format("{} has no parameters: remove '{}'", algorithm.name, assignment));
    throw_invalid(
        fmt::format("{} has no parameter '{}'{}", algorithm.name, wanted, suggestion(wanted, valid)));
}

}  // namespace

Parameters default_parameters(const Algorithm& algorithm) {
    Parameters values{};
    for (std::size_t i = 0; i < algorithm.parameters.size(); ++i)
        values[i] = algorithm.parameters[i].default_value;
    return values;
}

Verdict Choice::applies(const Problem& problem) const {
    return algorithm->lists != nullptr ? algorithm->lists->applies(problem)
                                       : algorithm->applies(problem, parameters);
}

double Choice::cost(const Problem& problem, const Machine& machine) const {
    return algorithm->lists != nullptr ? 0 : algorithm->cost(problem, parameters, machine);
}

std::string print(const Choice& choice) {
    std::string text = choice.algorithm->name;
    for (std::size_t i = 0; i < choice.algorithm->parameters.size(); ++i) {
        text += fmt::format(":{}={}", choice.algorithm->parameters[i].name, choice.parameters[i]);
    }
    return text;
}

std::span<const Algorithm* const> catalogue() {
    static const Algorithm algorithms[] = {
#define LAPWING_ALGORITHM(collective, folder, name) \
    for_collective(folder::name, Collective::collective, #name),
#include "collectives/algorithms.def"
    };
    static const auto pointers = [] {
        std::array<const Algorithm*, std::size(algorithms)> all{};
        for (std::size_t i = 0; i < all.size(); ++i) all[i] = &algorithms[i];
        return all;
    }();
    return pointers;
}

std::span<const Algorithm* const> algorithms_of(Collective collective) {
    // The rows of one collective are adjacent.
    static const auto rows = [] {
        std::vector<std::span<const Algorithm* const>> all(all_collectives().size());
        for (const Algorithm* const& row : catalogue()) {
            auto& found = all[static_cast<std::size_t>(row->collective)];
            found = {found.empty() ? &row : found.data(), found.size() + 1};
        }
        return all;
    }();
    return rows[static_cast<std::size_t>(collective)];
}

Choice parse_choice(Collective collective, std::string_view text) {
    std::size_t end = text.find(':');
    const Algorithm& algorithm = find_algorithm(collective, text.substr(0, end));
    Choice choice{&algorithm, default_parameters(algorithm)};
    while (end != std::string_view::npos) {
        text.remove_prefix(end + 1);
        end = text.find(':');
        set_parameter(choice, text.substr(0, end));
    }
    return choice;
}

List build(const Problem& problem, int rank, const Choice& choice) {
    if (problem.bytes == 0 && problem.collective != Collective::barrier && !has_parts(problem.collective)) {
        return {.rank = rank, .ranks = problem.ranks, .tasks = {}};
    }
    if (choice.algorithm->lists != nullptr) return choice.algorithm->lists->build(problem, rank);
    return choice.algorithm->build(problem, rank, choice.parameters);
}

ListSet build_all(const Problem& problem, const Choice& choice) {
    ListSet set{problem, print(choice), {}};
    set.lists.reserve(static_cast<std::size_t>(problem.ranks));
    for (int rank = 0; rank < problem.ranks; ++rank) set.lists.push_back(build(problem, rank, choice));
    return set;
}

}  // namespace lapwing
