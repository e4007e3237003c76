#include "mpi/native/datatype.hpp"

#include <algorithm>
#include <climits>
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

// Copies through a message to oneself: the one way of MPI that takes any count and any size.
int copy_by_message(const void* source, std::uint64_t source_count, MPI_Datatype source_type, void* target,
                    std::uint64_t target_count, MPI_Datatype target_type) {
    static MPI_Comm self = [] {
        MPI_Comm made = MPI_COMM_NULL;
        PMPI_Comm_split(MPI_COMM_SELF, 0, 0, &made);
        return made;
    }();
    return PMPI_Sendrecv(source, static_cast<int>(source_count), source_type, 0, 0, target,
                         static_cast<int>(target_count), target_type, 0, 0, self, MPI_STATUS_IGNORE);
}

// Calls `some(first, count)` for runs of elements that are each less than 2^31 bytes.
template <typename Some>
int in_runs(std::uint64_t count, std::uint64_t size, Some some) {
    const std::uint64_t most = std::max<std::uint64_t>(1, INT_MAX / std::max<std::uint64_t>(1, size));
    for (std::uint64_t first = 0; first < count; first += most) {
        const int error = some(first, std::min(most, count - first));
        if (error != MPI_SUCCESS) return error;
    }
    return MPI_SUCCESS;
}

MPI_Datatype bytes_type(std::uint64_t bytes) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    PMPI_Type_create_hvector(static_cast<int>(bytes >> 20), 1 << 20, 1 << 20, MPI_BYTE, &type);
    const int lengths[2] = {1, static_cast<int>(bytes & ((1 << 20) - 1))};
    const MPI_Aint locations[2] = {0, static_cast<MPI_Aint>(bytes >> 20 << 20)};
    const MPI_Datatype types[2] = {type, MPI_BYTE};
    MPI_Datatype whole = MPI_DATATYPE_NULL;
    PMPI_Type_create_struct(2, lengths, locations, types, &whole);
    PMPI_Type_commit(&whole);
    PMPI_Type_free(&type);
    return whole;
}

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

namespace {

// The MPI's own functions, for elements at MPI_BOTTOM, too: MPICH's refuse its null pointer, so the type is
// moved down and the address up by the same distance.
class Placed {
  public:
    Placed(char* address, int count, MPI_Datatype type) : address_(address), count_(count), type_(type) {
        if (address != nullptr) return;
        constexpr std::intptr_t distance = 4096;
        const MPI_Aint down = -distance;
        PMPI_Type_create_hindexed(1, &count, &down, type, &type_);
        PMPI_Type_commit(&type_);
        address_ = reinterpret_cast<char*>(distance);
        count_ = 1;
        made_ = true;
    }
    ~Placed() {
        if (made_) PMPI_Type_free(&type_);
    }
    Placed(const Placed&) = delete;
    Placed& operator=(const Placed&) = delete;
    char* address() const { return address_; }
    int count() const { return count_; }
    MPI_Datatype type() const { return type_; }

  private:
    char* address_;
    int count_;
    MPI_Datatype type_;
    bool made_ = false;
};

}  // namespace

int pack(const void* elements, std::uint64_t count, MPI_Datatype type, const Layout& layout,
         std::byte* bytes) {
    return in_runs(count, layout.size, [&](std::uint64_t first, std::uint64_t some) {
        const char* from = static_cast<const char*>(elements) + static_cast<MPI_Aint>(first) * layout.extent;
        std::byte* to = bytes + first * layout.size;
        if (some * layout.size > INT_MAX) {
            MPI_Datatype whole = bytes_type(layout.size);
            const int error = copy_by_message(from, some, type, to, 1, whole);
            PMPI_Type_free(&whole);
            return error;
        }
        int position = 0;
        const Placed placed(const_cast<char*>(from), static_cast<int>(some), type);
        return PMPI_Pack(placed.address(), placed.count(), placed.type(), to,
                         static_cast<int>(some * layout.size), &position, MPI_COMM_SELF);
    });
}

int unpack(const std::byte* bytes, void* elements, std::uint64_t count, MPI_Datatype type,
           const Layout& layout) {
    return in_runs(count, layout.size, [&](std::uint64_t first, std::uint64_t some) {
        char* to = static_cast<char*>(elements) + static_cast<MPI_Aint>(first) * layout.extent;
        const std::byte* from = bytes + first * layout.size;
        if (some * layout.size > INT_MAX) {
            MPI_Datatype whole = bytes_type(layout.size);
            const int error = copy_by_message(from, 1, whole, to, some, type);
            PMPI_Type_free(&whole);
            return error;
        }
        int position = 0;
        const Placed placed(to, static_cast<int>(some), type);
        return PMPI_Unpack(from, static_cast<int>(some * layout.size), &position, placed.address(),
                           placed.count(), placed.type(), MPI_COMM_SELF);
    });
}

}  // namespace lapwing
