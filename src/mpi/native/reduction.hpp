// Reductions by MPI's operators on MPI's types: by Lapwing's own code where it has both, otherwise by the
// MPI's. And the program's operators and types that requests still use.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "engines/engine.hpp"
#include "mpi/native/datatype.hpp"
#include "task/problem.hpp"

namespace lapwing {

// Sets `op`, `type`, `ordered` and `element` of a new problem; `op` is Operator::user where the MPI reduces.
// `layout` is the layout of `type`. Returns false if the MPI refuses the operator.
bool describe_operator(MPI_Op op, MPI_Datatype type, const Layout& layout, Problem& problem);

// An operator of the MPI or of the program, with the type that it reduces.
struct MpiOperator {
    MPI_Op op{};
    MPI_Datatype type{};
    Layout layout;
};

// Reduces by an MpiOperator, for one request at a time.
class MpiReducer final : public Reducer {
  public:
    // The caller keeps the operator and the type valid.
    void use(const MpiOperator& by) { by_ = by; }
    // They stay valid until release(), even if the program frees them. Inside Entry.
    void hold(const MpiOperator& by);
    void release() {
        if (holds_) free();
    }

    // Elements that travel packed are unpacked for the MPI, and packed again. Stops at the first error of the
    // MPI.
    void reduce(std::byte* target, const std::byte* source, std::uint64_t bytes) noexcept override;
    // The first error since use() or hold().
    int error() const { return error_; }

  private:
    void free();
    int reduce_run(std::byte* target, const std::byte* source, std::uint64_t count);

    bool holds_ = false;
    int error_ = MPI_SUCCESS;
    MpiOperator by_;
    Staging left_;
    Staging right_;
};

// Called when the program frees a handle. Returns true if a request still holds the handle: it is then freed
// with that request. Inside Entry.
bool keeps_operator(MPI_Op op);
bool keeps_type(MPI_Datatype type);
// The type stays valid until release_type(), even if the program frees it. Inside Entry.
void hold_type(MPI_Datatype type);
void release_type(MPI_Datatype type);

}  // namespace lapwing
