// The shared-memory protocol under the memory model of C++11, by Relacy: its own headers, on words that
// Relacy watches. First as it is: no order of steps and no stale value that the model allows may lose a
// message, change one, race, or let a rank sleep for ever. Then with each memory order in turn made weaker:
// that must be found, or be among the orders that are known to be stronger than needed.
//
//   memory_order_test [ROUNDS [NUMBER]]        so many random executions of each scenario; only the weaker
//   order of that number, in detail
#include "memory_order/watched.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <set>
#include <string>
#include <string_view>

#include "links/shm_scenario.hpp"

namespace lapwing::shm {
namespace {

using test::Relacy;
using test::Site;
using test::Sites;

const Scenario* scenario = nullptr;

// One execution, as Relacy wants it.
template <unsigned threads>
struct Execution : rl::test_suite<Execution<threads>, threads> {
    void before() { world = std::make_unique<World<Relacy>>(*scenario); }
    void thread(unsigned number) {
        bool gives_up = false;
        try {
            world->run(static_cast<int>(number));
        } catch (const Error&) {
            gives_up = true;
        }
        if (gives_up) Relacy::fail("the protocol gives up");
    }
    void after() { world.reset(); }
    std::unique_ptr<World<Relacy>> world;
};

// The payload is full before the slots are.
constexpr Geometry many{.slots = 8, .payload = 256, .tickets = 1, .chunk = 80, .max_in_pieces = 0};

struct NamedScenario {
    const char* name;
    Scenario scenario;
};
const std::vector<NamedScenario> scenarios = {
    {"short messages", {2, {8, 0, 60, 64, 8}, tiny, true, false}},
    {"short messages, asleep", {2, {8, 0, 60, 64, 8}, tiny}},
    {"a full payload", {2, {64, 64, 64, 64, 64, 64, 64}, many, true, false}},
    {"a full payload, asleep", {2, {64, 64, 64, 64, 64, 64, 64}, many}},
    {"long messages copied by both", {2, {8, 200, 100}, tiny, true, false}},
    {"long messages copied by both, asleep", {2, {8, 200, 100}, tiny}},
    {"long messages in pieces", {2, {8, 200, 100}, tiny, false, false}},
    {"long messages in pieces, asleep", {2, {8, 200, 100}, tiny, false}},
    {"pieces, or copied by the receiver", {2, {8, 200, 100}, mixed, true, false}},
    {"pieces, or copied by the receiver, asleep", {2, {8, 200, 100}, mixed}},
    {"pieces, or copied by the sender", {2, {320, 8}, mixed, true, false}},
    {"three ranks", {3, {8, 120}, tiny}},
    {"a progress thread, short", {2, {8}, tiny, true, true, true}},
    {"a progress thread, long", {2, {200}, tiny, true, true, true}},
};

struct Found {
    rl::test_result_e result = rl::test_result_success;
    std::string scenario;
    std::uint64_t executions = 0;
};

template <unsigned threads>
rl::test_result_e explore(rl::test_params& parameters, bool in_detail) {
    if (in_detail) {
        rl::simulate<Execution<threads>>(parameters);
        return parameters.test_result;
    }
    rl::ostringstream state;
    return rl::run_test<Execution<threads>, rl::random_scheduler<threads>>(parameters, state, false);
}

// The first failure in random executions of all scenarios.
Found explore_all(unsigned rounds, bool in_detail) {
    static std::ostream nowhere(nullptr);
    Found found;
    for (const auto& [name, one] : scenarios) {
        scenario = &one;
        rl::test_params parameters;
        parameters.iteration_count = rounds;
        parameters.execution_depth_limit = 20000;
        parameters.progress_stream = &nowhere;
        parameters.output_stream = in_detail ? &std::cout : &nowhere;
        found.result =
            one.threads() == 2 ? explore<2>(parameters, in_detail) : explore<3>(parameters, in_detail);
        found.executions += parameters.stop_iteration;
        if (found.result == rl::test_result_success) continue;
        found.scenario = name;
        break;
    }
    return found;
}

const char* name_of(std::memory_order order) {
    return rl::format(test::relacy_order(order));
}

std::vector<std::memory_order> weaker_than(const Site& site) {
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

std::string text_of(const Site& site) {
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
constexpr Known known[] = {
    {"doorbell.hpp", "doorbell.rings.load(",
     "a ring says nothing but that it was; news are looked for behind the fence"},
    {"doorbell.hpp", "doorbell.rings.fetch_add(", "the same"},
    {"protocol.hpp", "doorbell_.rings.load(", "the same"},
    {"doorbell.hpp", "doorbell.asleep.exchange(",
     "the fence behind it is enough; the thread sanitizer, which knows no fences, needs it"},
    {"protocol_steps.hpp", "doorbell_.asleep.exchange(", "the same"},
    {"protocol_steps.hpp", "message.moved + ticket.copied.load(",
     "the sender is told of the end, and that has a fence before the program learns of it"},
    {"protocol_steps.hpp", "state = ticket.state.load(",
     "in has_events(), which only says whether to look; who looks loads again"},
    {"protocol_steps.hpp", "message->moved + ticket.copied.load(", "the same"},
};

const Known* find_known(std::string_view file, std::string_view text) {
    const auto* const found = std::find_if(std::begin(known), std::end(known), [&](const Known& one) {
        return one.file == file && text.find(one.text) != std::string_view::npos;
    });
    return found == std::end(known) ? nullptr : found;
}

// Lines with an order that no scenario has come to.
void print_unmet(const std::set<std::string>& files) {
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

// Random executions in which a weaker order is looked for.
constexpr unsigned rounds_of_one = 400;

int check(unsigned rounds, std::size_t only) {
    const Found as_it_is = explore_all(only == Sites::none ? rounds : rounds_of_one, false);
    if (as_it_is.result != rl::test_result_success) {
        std::cout << fmt::format("WRONG: {}, in the scenario \"{}\"\n", rl::test_result_str(as_it_is.result),
                                 as_it_is.scenario);
        explore_all(rounds, true);
        return 1;
    }
    std::cout << fmt::format("As it is: right in {} executions of {} scenarios\n", as_it_is.executions,
                             scenarios.size());
    std::set<std::string> files;
    std::size_t number = 0, found_ones = 0, known_ones = 0, wrong = 0;
    for (std::size_t site = 0, sites = Sites::count; site < sites; ++site) {
        const Site& at = Sites::met[site];
        if (std::string_view(at.file).find("links/shm/") == std::string_view::npos) continue;
        files.insert(at.file);
        for (const std::memory_order order : weaker_than(at)) {
            ++number;
            if (only != Sites::none && only != number) continue;
            Sites::planted = site;
            Sites::weaker = order;
            const Found found =
                explore_all(only == Sites::none ? rounds_of_one : rounds, only != Sites::none);
            Sites::planted = Sites::none;
            const std::string file = std::string(at.file).substr(std::string_view(at.file).rfind('/') + 1);
            const std::string text = text_of(at);
            const Known* const excuse = find_known(file, text);
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

}  // namespace
}  // namespace lapwing::shm

int main(int argc, char** argv) {
    const unsigned rounds = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 3000;
    const std::size_t only =
        argc > 2 ? static_cast<std::size_t>(std::atoi(argv[2])) : lapwing::test::Sites::none;
    return lapwing::shm::check(rounds, only);
}
