// Consecutive elements of a datatype.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstdint>

#include "mpi/native/datatype.hpp"
#include "mpi/native/refusals.hpp"

namespace lapwing {

// In the program's memory, unless a comment says otherwise.
struct Elements {
    const void* address = nullptr;
    std::uint64_t count = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    Layout layout;

    Elements() = default;
    Elements(const void* first, std::uint64_t number, MPI_Datatype of)
        : Elements(first, number, of, layout_of(of)) {}
    Elements(const void* first, std::uint64_t number, MPI_Datatype of, const Layout& layout_of_type)
        : address(first), count(number), type(of), layout(layout_of_type) {}

    // Whether the MPI refuses the type.
    bool refused() const { return layout.error != MPI_SUCCESS || (count > 0 && !layout.committed); }
    bool refused_where_gathered() const {
        return checks_gathered_types ? refused() : layout.error != MPI_SUCCESS;
    }
    std::uint64_t bytes() const { return count * layout.size; }
    bool contiguous() const { return layout.contiguous || bytes() == 0; }
    Elements from(std::int64_t first, std::uint64_t number) const {
        Elements some = *this;
        some.address = static_cast<const char*>(address) + static_cast<MPI_Aint>(first) * layout.extent;
        some.count = number;
        return some;
    }

    // The bytes from the first to the last byte of elements, as offsets from their address. Not of 0
    // elements.
    struct Range {
        MPI_Aint begin;
        MPI_Aint end;
        std::uint64_t bytes() const { return static_cast<std::uint64_t>(end - begin); }
    };
    Range range() const {
        if (layout.contiguous) return {0, static_cast<MPI_Aint>(bytes())};
        MPI_Aint lower = 0;
        MPI_Aint extent = 0;
        PMPI_Type_get_true_extent(type, &lower, &extent);
        const MPI_Aint last = static_cast<MPI_Aint>(count - 1) * layout.extent;
        return {lower + std::min<MPI_Aint>(0, last), lower + extent + std::max<MPI_Aint>(0, last)};
    }
};

}  // namespace lapwing
