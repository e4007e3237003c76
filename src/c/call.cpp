#include "c/call.hpp"

#include <algorithm>
#include <cstring>

#include "c/status.hpp"
#include "task/parts.hpp"
#include "task/validation.hpp"

namespace lapwing::c {
namespace {

constexpr std::uint64_t max_bytes = std::uint64_t{1} << 62;

// The enumerations of lapwing.h have the order of the tables; the test of the C API compares their names.
template <typename Entry, typename Given>
Entry entry_of(Given given, Entry last, const char* what) {
    const auto index = static_cast<std::uint32_t>(given);
    if (index > static_cast<std::uint32_t>(last))
        throw_invalid("unknown {} {}", what, static_cast<std::int32_t>(index));
    return static_cast<Entry>(index);
}

// The last entry of a table whose enumeration ends with the caller's own.
template <typename Entry>
constexpr Entry last_before(Entry own) {
    return static_cast<Entry>(static_cast<int>(own) - 1);
}

Collective collective_of(lapwing_collective given) {
    return entry_of(given, Collective::neighbor_alltoall, "collective");
}

Type type_of(lapwing_type given) {
    return entry_of(given, last_before(Type::opaque), "type");
}

Operator operator_of(lapwing_operator given) {
    return given == LAPWING_USER ? Operator::user : entry_of(given, last_before(Operator::user), "operator");
}

// A structure of an earlier or later version of the header.
lapwing_problem of_this_version(const lapwing_problem& given) {
    lapwing_problem known = lapwing_problem_of(given.collective);
    if (given.struct_size < sizeof known)
        throw_invalid("initialize the lapwing_problem by lapwing_problem_of");
    std::memcpy(&known, &given, sizeof known);
    const auto* const bytes = reinterpret_cast<const unsigned char*>(&given);
    if (std::any_of(bytes + sizeof known, bytes + given.struct_size,
                    [](unsigned char byte) { return byte != 0; }))
        throw Error(ErrorCode::unsupported,
                    "the lapwing_problem is of a later version of Lapwing: it "
                    "sets fields that this library does not have");
    return known;
}

void need(const void* array, const char* name, std::uint64_t entries) {
    if (array == nullptr && entries > 0) throw_invalid("{} is null", name);
}

Part part_of(int peer, const lapwing_part& part) {
    return {peer, part.bytes == 0 ? 0 : part.offset, part.bytes};
}

class Parting {
  public:
    Parting(const Group& group, const lapwing_problem& given, Problem& problem)
        : group_(group),
          given_(given),
          problem_(problem),
          root_(group.rank() == given.root),
          parts_(problem.parts.emplace_back()) {}

    void fill() {
        const int rank = group_.rank();
        switch (problem_.collective) {
            case Collective::gatherv:
                if (!problem_.in_place) parts_.sends.push_back({problem_.root, 0, given_.bytes});
                if (root_) of_all_ranks(parts_.receives, given_.receives, "parts");
                break;
            case Collective::scatterv:
                if (root_) of_all_ranks(parts_.sends, given_.sends, "parts");
                if (!problem_.in_place) parts_.receives.push_back({problem_.root, 0, given_.bytes});
                break;
            case Collective::allgatherv:
                of_all_ranks(parts_.receives, given_.receives, "parts");
                if (!problem_.in_place) parts_.sends.push_back({rank, 0, given_.bytes});
                break;
            case Collective::alltoallv:
                of_all_ranks(parts_.sends, given_.sends, "sends");
                of_all_ranks(parts_.receives, given_.receives, "receives");
                break;
            case Collective::reduce_scatter:
                by_counts();
                break;
            default:
                of_neighbors();
        }
    }

  private:
    void of_all_ranks(std::vector<Part>& parts, const lapwing_part* given, const char* name) {
        need(given, name, 1);
        for (int rank = 0; rank < group_.size(); ++rank) parts.push_back(part_of(rank, given[rank]));
    }

    void by_counts() {
        need(given_.counts, "counts", 1);
        const std::uint64_t element = problem_.element_bytes();
        std::uint64_t offset = 0;
        for (int rank = 0; rank < group_.size(); ++rank) {
            if (given_.counts[rank] > (max_bytes - offset) / element)
                throw_invalid("the counts are too large");
            const std::uint64_t bytes = given_.counts[rank] * element;
            parts_.sends.push_back({rank, bytes == 0 ? 0 : offset, bytes});
            offset += bytes;
        }
        parts_.receives.push_back({group_.rank(), 0, given_.counts[group_.rank()] * element});
    }

    void of_neighbors() {
        const lapwing_neighbors& around = given_.neighbors;
        if (around.source_count < 0 || around.destination_count < 0)
            throw_invalid("a number of neighbors is negative");
        const auto sources = static_cast<std::uint64_t>(around.source_count);
        const auto destinations = static_cast<std::uint64_t>(around.destination_count);
        const bool alltoall = problem_.collective == Collective::neighbor_alltoall;
        need(around.sources, "sources", sources);
        need(around.destinations, "destinations", destinations);
        need(given_.receives, "receives", sources);
        if (alltoall) need(given_.sends, "sends", destinations);
        for (std::uint64_t i = 0; i < destinations; ++i) {
            const lapwing_part part = alltoall ? given_.sends[i] : lapwing_part{0, given_.bytes};
            parts_.sends.push_back(part_of(around.destinations[i], part));
        }
        for (std::uint64_t i = 0; i < sources; ++i)
            parts_.receives.push_back(part_of(around.sources[i], given_.receives[i]));
    }

    const Group& group_;
    const lapwing_problem& given_;
    Problem& problem_;
    const bool root_;
    Parts& parts_;
};

void fill_reduction(const lapwing_reduction& given, Problem& problem) {
    problem.op = operator_of(given.op);
    if (problem.op != Operator::user) {
        problem.type = type_of(given.type);
        return;
    }
    if (given.function == nullptr) throw_invalid("LAPWING_USER needs a function");
    problem.type = Type::opaque;
    problem.element = given.element_bytes;
    problem.ordered = given.commutes == 0;
}

}  // namespace

Call call_of(const Group& group, const lapwing_problem& of_caller) {
    const lapwing_problem given = of_this_version(of_caller);
    Call call;
    Problem& problem = call.problem;
    problem.collective = collective_of(given.collective);
    problem.ranks = group.size();
    problem.placement = group.placement();
    problem.in_place = given.in_place != 0;
    if (has_root(problem.collective)) {
        problem.root = given.root;
        if (problem.root < 0 || problem.root >= group.size())
            throw_invalid("root {} is out of range: the group has ranks 0 to {}", problem.root,
                          group.size() - 1);
        if (problem.in_place && group.rank() != problem.root && may_be_in_place(problem.collective))
            throw_invalid("in_place must be 0 on all ranks but the root");
    }
    const bool reduces = is_reduction(problem.collective);
    if (reduces) {
        fill_reduction(given.reduction, problem);
        if (problem.op == Operator::user) call.function = CallersFunction(given.reduction);
        if (problem.element_bytes() == 0) throw_invalid("element_bytes must not be 0");
    }
    if (has_parts(problem.collective)) {
        Parting(group, given, problem).fill();
        validate_parts(problem, group.rank());
        problem.bytes = average_block(problem);
    } else if (reduces) {
        if (given.count > max_bytes / problem.element_bytes())
            throw_invalid("{} elements are too many", given.count);
        problem.bytes = given.count * problem.element_bytes();
    } else {
        problem.bytes = problem.collective == Collective::barrier ? 0 : given.bytes;
    }
    validate(problem);
    return call;
}

Buffers buffers_of(const Group& group, const Problem& problem, const void* in, void* out) {
    if (in == LAPWING_IN_PLACE) in = nullptr;
    if (out == LAPWING_IN_PLACE) out = nullptr;
    if (in == nullptr && in_bytes(problem, group.rank()) > 0) throw_invalid("in is null");
    if (out == nullptr && out_bytes(problem, group.rank()) > 0) throw_invalid("out is null");
    return {static_cast<const std::byte*>(in), static_cast<std::byte*>(out)};
}

}  // namespace lapwing::c
