#include "mpi/native/datatype.hpp"

#include "mpi/native/contents.hpp"
#include "mpi/native/refusals.hpp"

namespace lapwing {
namespace {

// Whether the data of consecutive elements lie in memory without gaps, in the order of the type map.
// Equal size and extent do not imply it: an indexed type can fill its extent in another order.
bool is_contiguous(MPI_Datatype type, int combiner) {
    if (combiner == MPI_COMBINER_NAMED) {
        MPI_Count size = 0;
        MPI_Count lower = 0;
        MPI_Count extent = 0;
        PMPI_Type_size_x(type, &size);
        PMPI_Type_get_extent_x(type, &lower, &extent);
        return lower == 0 && size == extent;  // not MPI_DOUBLE_INT, which has a gap at its end
    }
    if (combiner != MPI_COMBINER_CONTIGUOUS && combiner != MPI_COMBINER_DUP) return false;
    Contents contents;
    if (contents.read(type) != MPI_SUCCESS) return false;
    const MPI_Datatype base = contents.types.front().handle();
    return is_contiguous(base, combiner_of(base));
}

// Predefined types live as long as the program: their layout can be stored by handle.
struct Known {
    bool known = false;
    MPI_Datatype type{};  // MPI_DATATYPE_NULL is no constant in some MPIs
    Layout layout;
};
constinit thread_local Known last_predefined;

}  // namespace

Layout layout_of(MPI_Datatype type) {
    if (last_predefined.known && type == last_predefined.type) return last_predefined.layout;
    Layout layout;
    MPI_Count size = 0;
    MPI_Aint lower = 0;
    layout.error = PMPI_Type_size_x(type, &size);
    if (layout.error == MPI_SUCCESS) layout.error = PMPI_Type_get_extent(type, &lower, &layout.extent);
    if (layout.error != MPI_SUCCESS) return layout;
    layout.size = static_cast<std::uint64_t>(size);
    const int combiner = combiner_of(type);
    layout.contiguous = is_contiguous(type, combiner);
    if (combiner == MPI_COMBINER_NAMED)
        last_predefined = {true, type, layout};
    else
        layout.committed = !is_uncommitted(type);
    return layout;
}

}  // namespace lapwing
