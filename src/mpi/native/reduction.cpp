#include "mpi/native/reduction.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <cstddef>
#include <new>
#include <optional>
#include <unordered_map>

#include "engines/agreement.hpp"
#include "mpi/native/contents.hpp"
#include "mpi/native/handle_word.hpp"
#include "mpi/native/named_types.hpp"
#include "mpi/native/packing.hpp"
#include "mpi/native/refusals.hpp"

namespace lapwing {
namespace {

std::optional<Operator> own_operator(MPI_Op op) {
    static const struct {
        MPI_Op mpi;
        Operator own;
    } table[] = {
#define LAPWING_OPERATOR(mpi, own) {mpi, Operator::own},
#include "mpi/native/operators.def"
    };
    for (const auto& row : table) {
        if (row.mpi == op) return row.own;
    }
    return std::nullopt;
}

// Handles that requests use. A handle that the program frees meanwhile is freed with its last request. Inside
// Entry.
template <typename Handle>
class Holdings {
  public:
    void hold(Handle handle) { ++held_[handle].holders; }
    void release(Handle handle, int (*free)(Handle*)) {
        const auto found = held_.find(handle);
        if (--found->second.holders > 0) return;
        // Erased first: to free a handle may call the program.
        const int freed = found->second.freed;
        held_.erase(found);
        for (int i = 0; i < freed; ++i) {
            Handle one = handle;
            free(&one);
        }
    }
    bool holds(Handle handle) const { return held_.contains(handle); }
    // Called when the program frees the handle. Returns true if requests still use it.
    bool keeps(Handle handle) {
        const auto found = held_.find(handle);
        if (found == held_.end()) return false;
        ++found->second.freed;
        return true;
    }

  private:
    struct Held {
        int holders = 0;
        int freed = 0;  // by the program: MPI_Type_get_contents gives a handle again
    };
    std::unordered_map<Handle, Held> held_;
};
// Never destroyed: a program may exit without MPI_Finalize.
auto& operators = *new Holdings<MPI_Op>;
auto& types = *new Holdings<MPI_Datatype>;

// Room for unpacked elements, whose bytes may lie before or after their address.
Elements unpacked_in(Staging& staging, std::uint64_t count, const MpiOperator& by) {
    Elements elements(nullptr, count, by.type, by.layout);
    const Elements::Range range = elements.range();
    elements.address = staging.take(range.bytes()) - range.begin;
    return elements;
}

// Whether Lapwing reduces a type by a predefined operator.
struct Answer {
    bool known = false;
    MPI_Op op{};
    MPI_Datatype type{};
    bool refused = false;     // by the MPI
    Type own = Type::opaque;  // opaque: the MPI reduces
};
// Of predefined types: the handle of a freed type may be used again. A cache of sets, because to ask takes
// 10 us, and tests of a library use all operators on all types.
constexpr std::size_t answer_sets = 64;
constinit thread_local std::array<std::array<Answer, 4>, answer_sets> answers;
constinit thread_local std::size_t next_answer = 0;

Answer ask(const MpiOperator& by, Operator own) {
    Answer answer{true, by.op, by.type, is_unfit(by.op, by.type)};
    if (answer.refused) return answer;
    const std::optional<ElementType> element = element_type(by.type, by.layout.size);
    if (!element || !applies(own, element->type)) return answer;
    MpiReducer mpi;
    mpi.use(by);
    const bool same = agrees(mpi, own, element->type, element->truth) && mpi.error() == MPI_SUCCESS;
    if (same) answer.own = element->type;
    return answer;
}

Answer answer_to(const MpiOperator& by, Operator own) {
    constexpr auto mix = watch::CommunicatorRecord::mix;
    auto& set = answers[mix(mix(0, word_of(by.op)), word_of(by.type)) % answer_sets];
    for (const Answer& answer : set) {
        if (answer.known && answer.op == by.op && answer.type == by.type) return answer;
    }
    const Answer answer = ask(by, own);
    if (is_predefined(by.type)) set[next_answer++ % set.size()] = answer;
    return answer;
}

}  // namespace

bool describe_operator(MPI_Op op, MPI_Datatype type, const Layout& layout, Problem& problem) {
    if (const std::optional<Operator> own = own_operator(op)) {
        const Answer answer = answer_to({op, type, layout}, *own);
        if (answer.refused) return false;
        if (answer.own != Type::opaque) {
            problem.op = *own;
            problem.type = answer.own;
            return true;
        }
    }
    problem.op = Operator::user;
    problem.type = Type::opaque;
    problem.element = layout.size;
    int commutes = 1;
    if (PMPI_Op_commutative(op, &commutes) != MPI_SUCCESS) return false;
    problem.ordered = commutes == 0;
    return true;
}

void MpiReducer::hold(const MpiOperator& by) {
    use(by);
    holds_ = true;
    operators.hold(by.op);
    types.hold(by.type);
}

bool keeps_operator(MPI_Op op) {
    return !own_operator(op) && operators.keeps(op);
}

bool keeps_type(MPI_Datatype type) {
    // The MPI refuses to free those of its own.
    return types.holds(type) && !is_predefined(type) && types.keeps(type);
}

void hold_type(MPI_Datatype type) {
    types.hold(type);
}

void release_type(MPI_Datatype type) {
    types.release(type, PMPI_Type_free);
}

void MpiReducer::free() {
    operators.release(by_.op, PMPI_Op_free);
    release_type(by_.type);
    holds_ = false;
    error_ = MPI_SUCCESS;
    left_.trim();
    right_.trim();
}

void MpiReducer::reduce(std::byte* target, const std::byte* source, std::uint64_t bytes) noexcept {
    const std::uint64_t most = std::max<std::uint64_t>(1, INT_MAX / by_.layout.size);
    for (std::uint64_t left = bytes / by_.layout.size; left > 0 && error_ == MPI_SUCCESS;) {
        const std::uint64_t count = std::min(left, most);
        try {
            error_ = reduce_run(target, source, count);
        } catch (const std::bad_alloc&) {
            error_ = MPI_ERR_NO_MEM;
        }
        source += count * by_.layout.size;
        target += count * by_.layout.size;
        left -= count;
    }
}

// `count` fits an int.
int MpiReducer::reduce_run(std::byte* target, const std::byte* source, std::uint64_t count) {
    if (by_.layout.contiguous)
        return PMPI_Reduce_local(source, target, static_cast<int>(count), by_.type, by_.op);
    const Elements a = unpacked_in(left_, count, by_);
    const Elements b = unpacked_in(right_, count, by_);
    int error = unpack(source, a);
    if (error == MPI_SUCCESS) error = unpack(target, b);
    if (error == MPI_SUCCESS)
        error = PMPI_Reduce_local(a.address, const_cast<void*>(b.address), static_cast<int>(count), by_.type,
                                  by_.op);
    return error == MPI_SUCCESS ? pack(b, target) : error;
}

}  // namespace lapwing
