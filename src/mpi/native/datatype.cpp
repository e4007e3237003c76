#include "mpi/native/datatype.hpp"

#include <algorithm>
#include <vector>

#include "mpi/native/refusals.hpp"

namespace lapwing {
namespace {

// Whether the data of consecutive elements stand in memory without holes and in the order of the type map.
// Equal size and extent do not imply it: an indexed type can fill its extent in another order.
bool is_contiguous(MPI_Datatype type) {
    int integers = 0;
    int addresses = 0;
    int types = 0;
    int combiner = 0;
    if (PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner) != MPI_SUCCESS) return false;
    if (combiner == MPI_COMBINER_NAMED) {
        MPI_Count size = 0;
        MPI_Count lower = 0;
        MPI_Count extent = 0;
        PMPI_Type_size_x(type, &size);
        PMPI_Type_get_extent_x(type, &lower, &extent);
        return lower == 0 && size == extent;  // not MPI_DOUBLE_INT, which has a hole at its end
    }
    if (combiner != MPI_COMBINER_CONTIGUOUS && combiner != MPI_COMBINER_DUP) return false;
    std::vector<int> integer(static_cast<std::size_t>(std::max(1, integers)));
    std::vector<MPI_Aint> address(static_cast<std::size_t>(std::max(1, addresses)));
    std::vector<MPI_Datatype> base(static_cast<std::size_t>(types));
    if (PMPI_Type_get_contents(type, integers, addresses, types, integer.data(), address.data(),
                               base.data()) != MPI_SUCCESS) {
        return false;
    }
    const bool contiguous = is_contiguous(base.front());
    PMPI_Type_get_envelope(base.front(), &integers, &addresses, &types, &combiner);
    // The contents of a derived type are new handles, those of predefined types are not.
    if (combiner != MPI_COMBINER_NAMED) PMPI_Type_free(&base.front());
    return contiguous;
}

// Predefined types live as long as the program, so what is known of them can be kept by handle.
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
    layout.contiguous = is_contiguous(type);
    int integers = 0;
    int addresses = 0;
    int types = 0;
    int combiner = 0;
    PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    if (combiner == MPI_COMBINER_NAMED)
        last_predefined = {true, type, layout};
    else
        layout.committed = !is_uncommitted(type);
    return layout;
}

}  // namespace lapwing
