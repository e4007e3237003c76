#include "plan/selection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "base/error.hpp"
#include "base/nearest_name.hpp"
#include "collectives/catalogue.hpp"
#include "collectives/two_level.hpp"
#include "plan/list_files.hpp"

namespace lapwing {
namespace {

Collective parse_collective(std::string_view text) {
    if (const auto collective = find_collective(text)) return *collective;
    std::vector<std::string> valid;
    for (const Algorithm* algorithm : catalogue()) {
        // The program's word for it, ialltoall, is what people write here.
        std::string name = mpi_name(algorithm->collective) + 4;
        name[0] = 'i';
        if (valid.empty() || valid.back() != name) valid.push_back(name);
    }
    throw_invalid("unknown collective '{}'{}", text, suggestion(text, valid));
}

// Costs that differ only by rounding are equal: the algorithm that stands earlier in the catalogue is taken.
std::int64_t picoseconds(double seconds) {
    constexpr double most = 9e18;
    return static_cast<std::int64_t>(std::min(seconds * 1e12, most) + 0.5);
}

}  // namespace

RequestedAlgorithms RequestedAlgorithms::parse(std::string_view text) {
    RequestedAlgorithms requested;
    while (!text.empty()) {
        const std::size_t comma = text.find(',');
        const std::string_view entry = text.substr(0, comma);
        text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
        const std::size_t equals = entry.find('=');
        if (equals == std::string_view::npos)
            throw_invalid("'{}' is not of the form COLLECTIVE=ALGORITHM", entry);
        const Collective collective = parse_collective(entry.substr(0, equals));
        if (requested.find(collective) != nullptr) throw_invalid("{} is given twice", name(collective));
        requested.choices_.push_back(read_choice(collective, entry.substr(equals + 1)));
    }
    return requested;
}

const Choice* RequestedAlgorithms::find(Collective collective) const {
    for (const Choice& choice : choices_) {
        if (choice.algorithm->collective == collective) return &choice;
    }
    return nullptr;
}

double modelled_seconds(const Problem& problem, const Choice& choice, const Machine& machine) {
    const Algorithm& algorithm = *choice.algorithm;
    if (algorithm.knows_hosts || !two_level::has_levels(problem)) return choice.cost(problem, machine);
    return choice.cost(problem, two_level::machine_for_flat(problem, algorithm.paths, machine));
}

std::vector<Candidate> candidates(const Problem& problem, const Machine& machine) {
    std::vector<Candidate> found;
    for (const Algorithm* algorithm : algorithms_of(problem.collective)) {
        const Choice choice{algorithm, default_parameters(*algorithm)};
        found.push_back({choice, modelled_seconds(problem, choice, machine), choice.applies(problem)});
    }
    std::ranges::stable_sort(found, [](const Candidate& a, const Candidate& b) {
        if (static_cast<bool>(a.applies) != static_cast<bool>(b.applies)) return static_cast<bool>(a.applies);
        return picoseconds(a.cost) < picoseconds(b.cost);
    });
    return found;
}

Machine Guidance::machine(const Problem& problem, std::string* where) const {
    for (const Tuning* measured : {tuning, &shipped_tuning()}) {
        if (measured == nullptr) continue;
        if (const Tuning::Table* table = measured->constants(problem, surroundings)) {
            if (where != nullptr) *where = measured->where(*table);
            return *table->machine;
        }
    }
    if (where != nullptr) *where = "built in";
    return {};
}

Selection select(const Problem& problem, const RequestedAlgorithms& requested, const Guidance& guidance,
                 std::string* why) {
    Selection selection;
    // Whether the choice applies. A refusal becomes the beginning of `why`.
    const auto takes = [&](const Choice& choice, std::string_view where) {
        const Verdict verdict = choice.applies(problem);
        if (!verdict && why != nullptr) {
            *why += fmt::format("{}{} declined: {}; ", choice.algorithm->name,
                                where.empty() ? "" : fmt::format(" ({})", where), verdict.reason());
        }
        return static_cast<bool>(verdict);
    };
    const auto select = [&](const Choice& choice, Selection::By by) {
        selection.choice = choice;
        selection.by = by;
        return selection;
    };
    if (const Choice* request = requested.find(problem.collective)) {
        if (takes(*request, "")) {
            if (why != nullptr) *why += "requested";
            return select(*request, Selection::By::request);
        }
        if (const UserLists* lists = request->algorithm->lists) selection.refused = lists->refusal(problem);
    }
    for (const Tuning* measured : {guidance.tuning, &shipped_tuning()}) {
        if (measured == nullptr) continue;
        const Tuning::Found found = measured->find(problem, guidance.surroundings);
        if (found.row == nullptr || !takes(found.row->choice, found.where)) continue;
        if (why != nullptr)
            *why += fmt::format("{}: fastest in measurements from {} bytes on", found.where, found.row->from);
        return select(found.row->choice,
                      measured == guidance.tuning ? Selection::By::tuning : Selection::By::defaults);
    }
    std::string where;
    const Machine machine = guidance.known && why == nullptr
                                ? *guidance.known
                                : guidance.machine(problem, why != nullptr ? &where : nullptr);
    // The first of candidates(). Whether an algorithm applies may take longer to find out than its cost.
    std::int64_t least = 0;
    for (const Algorithm* algorithm : algorithms_of(problem.collective)) {
        const Choice choice{algorithm, default_parameters(*algorithm)};
        const std::int64_t cost = picoseconds(modelled_seconds(problem, choice, machine));
        if (selection.choice.algorithm != nullptr && cost >= least) continue;
        if (!choice.applies(problem)) continue;
        selection.choice = choice;
        least = cost;
    }
    if (selection.choice.algorithm == nullptr) {
        const bool none = algorithms_of(problem.collective).empty();
        throw Error(ErrorCode::unsupported, "no algorithm for {}",
                    none ? name(problem.collective) : "this problem");
    }
    if (why != nullptr) *why += fmt::format("cheapest by the cost model, constants: {}", where);
    return selection;
}

}  // namespace lapwing
