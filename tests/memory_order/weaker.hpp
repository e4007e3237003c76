// Random executions of a program on words that Relacy watches: as it is, and with each of its memory orders
// in turn made weaker, which must be found, or be among the orders that are known to be stronger than needed.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <iostream>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "memory_order/watched.hpp"

namespace lapwing::test {

struct Found {
    rl::test_result_e result = rl::test_result_success;
    std::string scenario;
    std::uint64_t executions = 0;
};

// Random executions of Execution, a rl::test_suite of so many threads.
template <typename Execution, unsigned threads>
void explore(unsigned rounds, bool in_detail, Found& found) {
    static std::ostream nowhere(nullptr);
    rl::test_params parameters;
    parameters.iteration_count = rounds;
    parameters.execution_depth_limit = 20000;
    parameters.progress_stream = &nowhere;
    parameters.output_stream = in_detail ? &std::cout : &nowhere;
    if (in_detail) {
        rl::simulate<Execution>(parameters);
        found.result = parameters.test_result;
    } else {
        rl::ostringstream state;
        found.result = rl::run_test<Execution, rl::random_scheduler<threads>>(parameters, state, false);
    }
    found.executions += parameters.stop_iteration;
}

inline const char* name_of(std::memory_order order) {
    return rl::format(relacy_order(order));
}

inline std::vector<std::memory_order> weaker_than(const Site& site) {
    switch (site.order) {
        case std::memory_order_acquire:
        case std::memory_order_release:
            return {std::memory_order_relaxed};
        case std::memory_order_acq_rel:
            return {std::memory_order_acquire, std::memory_order_release};
        case std::memory_order_seq_cst:
            return {std::memory_order_acq_rel};
        default:
            return {};
    }
}

inline std::string text_of(const Site& site) {
    std::ifstream file(site.file);
    std::string text;
    for (unsigned line = 0; line < site.line && std::getline(file, text); ++line) {
    }
    text.erase(0, text.find_first_not_of(' '));
    return text;
}

// Orders that are stronger than what this program can show to be needed: in this file, in a line that has
// this text.
struct Known {
    std::string_view file, text;
    const char* why;
};

struct Checked {
    // The first failure in so many executions of each scenario.
    std::function<Found(unsigned rounds, bool in_detail)> explore_all;
    std::string_view files;  // with this in their path
    std::span<const Known> known;
    unsigned rounds_of_one = 400;  // in which a weaker order is looked for
};

inline const Known* find_known(const Checked& checked, std::string_view file, std::string_view text) {
    const auto found = std::ranges::find_if(checked.known, [&](const Known& one) {
        return one.file == file && text.find(one.text) != std::string_view::npos;
    });
    return found == checked.known.end() ? nullptr : &*found;
}

// Lines with an order that no scenario has come to.
inline void print_unmet(const std::set<std::string>& files) {
    for (const std::string& path : files) {
        std::ifstream file(path);
        std::string text;
        for (unsigned line = 1; std::getline(file, text); ++line) {
            if (text.find("memory_order_") == std::string::npos ||
                text.find("memory_order_relaxed") != std::string::npos)
                continue;
            const bool met = std::any_of(
                Sites::met.begin(), Sites::met.begin() + static_cast<std::ptrdiff_t>(Sites::count),
                [&](const Site& site) { return site.line == line && path == site.file; });
            if (!met)
                std::cout << fmt::format("    not run here: {}:{} {}\n", path.substr(path.rfind('/') + 1),
                                         line, text.substr(text.find_first_not_of(' ')));
        }
    }
}

// `rounds` executions of each scenario. `only`: the weaker order of that number alone, in detail. Returns the
// exit status.
inline int check(const Checked& checked, unsigned rounds, std::size_t only) {
    const Found as_it_is = checked.explore_all(only == Sites::none ? rounds : checked.rounds_of_one, false);
    if (as_it_is.result != rl::test_result_success) {
        std::cout << fmt::format("WRONG: {}, in the scenario \"{}\"\n", rl::test_result_str(as_it_is.result),
                                 as_it_is.scenario);
        checked.explore_all(rounds, true);
        return 1;
    }
    std::cout << fmt::format("As it is: right in {} executions of all scenarios\n", as_it_is.executions);
    std::set<std::string> files;
    std::size_t number = 0, found_ones = 0, known_ones = 0, wrong = 0;
    for (std::size_t site = 0, sites = Sites::count; site < sites; ++site) {
        const Site& at = Sites::met[site];
        if (std::string_view(at.file).find(checked.files) == std::string_view::npos) continue;
        files.insert(at.file);
        for (const std::memory_order order : weaker_than(at)) {
            ++number;
            if (only != Sites::none && only != number) continue;
            Sites::planted = site;
            Sites::weaker = order;
            const Found found = checked.explore_all(only == Sites::none ? checked.rounds_of_one : rounds,
                                                    only != Sites::none);
            Sites::planted = Sites::none;
            const std::string file = std::string(at.file).substr(std::string_view(at.file).rfind('/') + 1);
            const std::string text = text_of(at);
            const Known* const excuse = find_known(checked, file, text);
            std::string verdict;
            if (found.result != rl::test_result_success) {
                ++found_ones;
                verdict = fmt::format("found, {}: {}", found.scenario, rl::test_result_str(found.result));
                if (excuse != nullptr) {
                    ++wrong;
                    verdict += "; WRONG, it is in the list of those that are not";
                }
            } else if (excuse != nullptr) {
                ++known_ones;
                verdict = fmt::format("stronger than needed: {}", excuse->why);
            } else {
                ++wrong;
                verdict = "WRONG, not found";
            }
            std::cout << fmt::format("{:2} {}:{} {}\n    {} -> {}: {}\n", number, file, at.line, text,
                                     name_of(at.order), name_of(order), verdict)
                      << std::flush;
        }
    }
    if (only == Sites::none) print_unmet(files);
    std::cout << fmt::format("{} weaker orders: {} found, {} known to be stronger than needed, {} wrong\n",
                             number, found_ones, known_ones, wrong);
    return wrong == 0 ? 0 : 1;
}

}  // namespace lapwing::test
