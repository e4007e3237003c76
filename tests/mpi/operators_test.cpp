// Which of the reductions that the MPI standard allows Lapwing's own code computes, and which are left to the
// MPI.
#include <mpi.h>

#include "mpi/native/reduction.hpp"
#include "operator_table.hpp"
#include "support/unit.hpp"

namespace {

using namespace lapwing;

// docs/compatibility.md has the same list.
const std::set<std::string> left_to_the_mpi = {
#ifdef OPEN_MPI
    // Open MPI compares them as unsigned numbers.
    "MPI_MIN of MPI_OFFSET",
    "MPI_MAX of MPI_OFFSET",
#else
    // MPICH 4 multiplies these without the infinities that C recovers.
    "MPI_PROD of MPI_COMPLEX",
    "MPI_PROD of MPI_DOUBLE_COMPLEX",
    "MPI_PROD of MPI_COMPLEX8",
    "MPI_PROD of MPI_COMPLEX16",
    "MPI_PROD of MPI_CXX_FLOAT_COMPLEX",
    "MPI_PROD of MPI_CXX_DOUBLE_COMPLEX",
    "MPI_PROD of MPI_CXX_LONG_DOUBLE_COMPLEX",
#endif
};

TEST(Operators, EveryLegalReductionIsLapwings) {
    for (const operator_table::TypeRow& type : operator_table::types()) {
        const Layout layout = layout_of(type.type);
        for (const operator_table::OperatorRow& op : operator_table::operators()) {
            const std::string name = std::string(op.name) + " of " + type.name;
            for (int time = 0; time < 2; ++time) {
                Problem problem;
                const bool accepted = describe_operator(op.op, type.type, layout, problem);
                const bool by_mpi = problem.op == Operator::user;
                if ((op.groups & type.group) != 0) {
                    EXPECT_TRUE(accepted) << name;
                    EXPECT_EQ(by_mpi, left_to_the_mpi.count(name) == 1) << name;
                }
                if (accepted && by_mpi) {
                    EXPECT_EQ(problem.element, layout.size) << name;
                } else if (accepted) {
                    EXPECT_EQ(size_in_bytes(problem.type), layout.size) << name;
                }
            }
        }
    }
}

}  // namespace
