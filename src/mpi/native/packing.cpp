#include "mpi/native/packing.hpp"

#include <algorithm>

#include "mpi/native/own_communicator.hpp"
#include "mpi/native/parts_of_type.hpp"

namespace lapwing {
namespace {

// Elements as the MPI's functions accept them. MPICH's functions refuse the null pointer of MPI_BOTTOM:
// there, the type is moved down and the address up by the same distance.
class AtAddress {
  public:
    AtAddress(char* address, int count, MPI_Datatype type) : address_(address), count_(count), type_(type) {
        if (address != nullptr) return;
        constexpr std::intptr_t distance = 4096;
        const MPI_Aint down = -distance;
        PMPI_Type_create_hindexed(1, &count, &down, type, &type_);
        PMPI_Type_commit(&type_);
        address_ = reinterpret_cast<char*>(distance);
        count_ = 1;
        made_ = true;
    }
    ~AtAddress() {
        if (made_) PMPI_Type_free(&type_);
    }
    AtAddress(const AtAddress&) = delete;
    AtAddress& operator=(const AtAddress&) = delete;
    char* address() const { return address_; }
    int count() const { return count_; }
    MPI_Datatype type() const { return type_; }

  private:
    char* address_;
    int count_;
    MPI_Datatype type_;
    bool made_ = false;
};

// Elements in memory, and their packed bytes.
struct Cursor {
    char* elements;
    std::byte* bytes;
};

int pack_run(const Cursor& at, int count, MPI_Datatype type, std::uint64_t bytes) {
    int position = 0;
    const AtAddress placed(at.elements, count, type);
    return PMPI_Pack(placed.address(), placed.count(), placed.type(), at.bytes, static_cast<int>(bytes),
                     &position, own_communicator());
}

int unpack_run(const Cursor& at, int count, MPI_Datatype type, std::uint64_t bytes) {
    int position = 0;
    const AtAddress placed(at.elements, count, type);
    return PMPI_Unpack(at.bytes, static_cast<int>(bytes), &position, placed.address(), placed.count(),
                       placed.type(), own_communicator());
}

// Calls `some` for as many elements at once as have `max` bytes, and for the parts of larger elements.
template <typename Some>
int in_runs(Cursor at, std::uint64_t count, MPI_Datatype type, const Layout& layout, std::uint64_t max,
            Some some) {
    if (layout.size == 0) return MPI_SUCCESS;
    const std::uint64_t at_once = std::max<std::uint64_t>(1, max / layout.size);
    for (std::uint64_t first = 0; first < count; first += at_once) {
        const std::uint64_t number = std::min(at_once, count - first);
        const std::uint64_t bytes = number * layout.size;
        const int error =
            bytes <= max
                ? some(at, static_cast<int>(number), type, bytes)
                : take_apart(at.elements, type, max, [&](char* run, MPI_Datatype part, std::uint64_t size) {
                      const int failed = some(Cursor{run, at.bytes}, 1, part, size);
                      at.bytes += size;
                      return failed;
                  });
        if (error != MPI_SUCCESS) return error;
        if (bytes <= max) at.bytes += bytes;
        at.elements += static_cast<MPI_Aint>(number) * layout.extent;
    }
    return MPI_SUCCESS;
}

}  // namespace

int pack(const void* elements, std::uint64_t count, MPI_Datatype type, const Layout& layout, std::byte* bytes,
         std::uint64_t max) {
    char* const from = static_cast<char*>(const_cast<void*>(elements));
    return in_runs({from, bytes}, count, type, layout, max, pack_run);
}

int unpack(const std::byte* bytes, void* elements, std::uint64_t count, MPI_Datatype type,
           const Layout& layout, std::uint64_t max) {
    return in_runs({static_cast<char*>(elements), const_cast<std::byte*>(bytes)}, count, type, layout, max,
                   unpack_run);
}

}  // namespace lapwing
