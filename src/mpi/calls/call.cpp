#include "mpi/calls/call.hpp"

#include <algorithm>
#include <functional>

#include "base/error.hpp"

namespace lapwing {
namespace {

CollectiveCount& count_of(Collective collective) {
    return runtime.report.collectives[static_cast<std::size_t>(collective)];
}

bool stands(const Elements& elements) {
    return elements.bytes() == 0 || elements.layout.contiguous;
}

// What a list leaves in `packed` goes to `elements` when it is complete.
void unpack_later(Request& request, const Elements& elements, const std::byte* packed, int* error) {
    if (elements.bytes() == 0) return;
    Unpacking unpacking;
    unpacking.bytes = packed;
    unpacking.elements = static_cast<char*>(const_cast<void*>(elements.address));
    unpacking.count = elements.count;
    unpacking.layout = elements.layout;
    // The program may free its datatype as soon as the call returns.
    *error = PMPI_Type_dup(elements.type, &unpacking.type);
    if (*error == MPI_SUCCESS) request.unpacking.push_back(unpacking);
}

}  // namespace

bool fits(const Problem& problem) {
    constexpr std::uint64_t most_bytes = std::uint64_t{1} << 62;
    // No number of ranks needs the division then, which takes longer than all else here.
    if (problem.bytes < std::uint64_t{1} << 31) return true;
    return problem.bytes <= most_bytes / static_cast<std::uint64_t>(problem.ranks);
}

void count_fallback(Collective collective, Fallback reason) {
    ++count_of(collective).fell_back[static_cast<std::size_t>(reason)];
}

Communicator* taking_communicator(MPI_Comm communicator, Collective collective) {
    if (communicator == MPI_COMM_NULL) return nullptr;
    if (!takes_calls()) {
        if (runtime_started) count_fallback(collective, runtime.why_not);
        return nullptr;
    }
    int error = MPI_SUCCESS;
    Communicator* group = find_communicator(communicator, &error);
    if (group == nullptr) return nullptr;  // the MPI will say the same to the program
    if (group->intercommunicator) {
        count_fallback(collective, Fallback::intercommunicator);
        return nullptr;
    }
    if (group->left_to_mpi) {
        count_fallback(collective, Fallback::engine_mpi);
        return nullptr;
    }
    return group;
}

const std::byte* input(Request& request, const Elements& elements, int* error) {
    return stands(elements) ? static_cast<const std::byte*>(elements.address)
                            : copied_input(request, elements, error);
}

const std::byte* copied_input(Request& request, const Elements& elements, int* error) {
    if (elements.bytes() == 0) return nullptr;
    std::byte* packed = request.in_staging.take(elements.bytes());
    if (elements.layout.contiguous)
        std::memcpy(packed, elements.address, elements.bytes());
    else
        *error = pack(elements.address, elements.count, elements.type, elements.layout, packed);
    return packed;
}

std::byte* output(Request& request, const Elements& elements, int* error) {
    return output_in_place(request, elements, 0, 0, error);
}

std::byte* output_in_place(Request& request, const Elements& elements, std::uint64_t first,
                           std::uint64_t number, int* error) {
    if (stands(elements)) return static_cast<std::byte*>(const_cast<void*>(elements.address));
    std::byte* packed = request.out_staging.take(elements.bytes());
    if (number > 0) {
        const Elements own = elements.from(static_cast<std::int64_t>(first), number);
        *error = pack(own.address, own.count, own.type, own.layout, packed + first * own.layout.size);
    }
    if (*error == MPI_SUCCESS) unpack_later(request, elements, packed, error);
    return packed;
}

int Blocks::error() const {
    for (const Block& block : blocks_) {
        if (block.elements.layout.error != MPI_SUCCESS) return block.elements.layout.error;
    }
    return MPI_SUCCESS;
}

bool Blocks::in_place() const {
    return std::all_of(blocks_.begin(), blocks_.end(),
                       [](const Block& block) { return stands(block.elements); });
}

std::uint64_t Blocks::bytes() const {
    std::uint64_t sum = 0;
    for (const Block& block : blocks_) sum += block.elements.bytes();
    return sum;
}

// The lowest address of a block that has bytes.
const char* Blocks::base() const {
    const char* lowest = nullptr;
    for (const Block& block : blocks_) {
        const char* address = static_cast<const char*>(block.elements.address);
        if (block.elements.bytes() > 0 && (lowest == nullptr || std::less<>()(address, lowest)))
            lowest = address;
    }
    return lowest;
}

std::vector<Part> Blocks::parts() const {
    std::vector<Part> parts;
    parts.reserve(blocks_.size());
    const bool stand = in_place();
    const char* const lowest = stand ? base() : nullptr;
    std::uint64_t packed = 0;
    for (const Block& block : blocks_) {
        const std::uint64_t bytes = block.elements.bytes();
        Part part{block.peer, 0, bytes};
        if (bytes > 0) {
            part.offset =
                stand ? static_cast<std::uint64_t>(static_cast<const char*>(block.elements.address) - lowest)
                      : packed;
        }
        packed += bytes;
        parts.push_back(part);
    }
    return parts;
}

int Blocks::pack_one(std::size_t which, std::byte* packed) const {
    const Elements& elements = blocks_[which].elements;
    if (elements.bytes() == 0) return MPI_SUCCESS;
    if (!elements.layout.contiguous)
        return pack(elements.address, elements.count, elements.type, elements.layout, packed);
    std::memcpy(packed, elements.address, elements.bytes());
    return MPI_SUCCESS;
}

const std::byte* Blocks::input(Request& request, int* error) const {
    if (in_place()) return reinterpret_cast<const std::byte*>(base());
    std::byte* packed = request.in_staging.take(bytes());
    std::uint64_t at = 0;
    for (std::size_t i = 0; i < blocks_.size() && *error == MPI_SUCCESS; ++i) {
        *error = pack_one(i, packed + at);
        at += blocks_[i].elements.bytes();
    }
    return packed;
}

const std::byte* Blocks::copied_input(Request& request, int* error) const {
    const std::byte* const found = input(request, error);
    if (!in_place() || found == nullptr) return found;
    std::uint64_t end = 0;
    const std::vector<Part> all = parts();
    for (const Part& part : all) end = std::max(end, part.bytes > 0 ? part.offset + part.bytes : 0);
    std::byte* const copy = request.in_staging.take(end);
    // What stands between the blocks is not the program's promise: it is not read.
    for (const Part& part : all) std::memcpy(copy + part.offset, found + part.offset, part.bytes);
    return copy;
}

std::byte* Blocks::output(Request& request, int* error) const {
    return output_in_place(request, blocks_.size(), error);
}

std::byte* Blocks::output_in_place(Request& request, std::size_t own, int* error) const {
    if (in_place()) return reinterpret_cast<std::byte*>(const_cast<char*>(base()));
    std::byte* packed = request.out_staging.take(bytes());
    std::uint64_t at = 0;
    for (std::size_t i = 0; i < blocks_.size() && *error == MPI_SUCCESS; ++i) {
        if (i == own) *error = pack_one(i, packed + at);
        if (*error == MPI_SUCCESS) unpack_later(request, blocks_[i].elements, packed + at, error);
        at += blocks_[i].elements.bytes();
    }
    return packed;
}

Started start(Communicator& group, Problem& problem, const Preparation& preparation) {
    if (!fits(problem)) return {Outcome::declined, MPI_SUCCESS, nullptr};  // for the MPI to refuse
    const std::uint64_t began = runtime.measures ? nanoseconds() : 0;
    int error = begin_links(group);
    if (error != MPI_SUCCESS) return Started::failed_by(error);
    problem.placement = group.placement;
    const Entry entry;
    CollectiveCount& count = count_of(problem.collective);
    Plan* plan = nullptr;
    try {
        if (group.deferred.empty() && settle(group)) {
            plan = &group.engines.planner().plan(problem);
        } else {
            select(problem, group.options.requested);  // whether there will be one
        }
    } catch (const Error& declined) {
        if (declined.code() != ErrorCode::unsupported) throw;
        ++count.fell_back[static_cast<std::size_t>(Fallback::no_plan)];
        return {Outcome::declined, MPI_SUCCESS, nullptr};
    }
    Request* request = take_request(&error);
    if (request == nullptr) return Started::failed_by(error);
    request->group = &group;
    request->plan = plan;
    request->collective = problem.collective;
    if (plan == nullptr) request->problem = problem;
    request->buffers = {};
    preparation.prepare(*request, request->buffers, &error);
    if (error == MPI_SUCCESS) {
        try {
            run(*request);
        } catch (const Error& failed) {
            error = error_code_of(failed);
        }
    }
    if (error != MPI_SUCCESS) {
        give_back(*request);
        return Started::failed_by(error);
    }
    ++count.taken;
    if (runtime.measures) measure_start(*request, began);
    return {Outcome::taken, MPI_SUCCESS, request};
}

}  // namespace lapwing
