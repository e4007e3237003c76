#include "mpi/native/packing.hpp"

#include <algorithm>
#include <cstring>

#include "links/mpi/byte_span.hpp"
#include "links/mpi/own_communicator.hpp"

namespace lapwing {
namespace {

// Elements as the MPI's functions accept them. MPICH's functions refuse the null pointer of MPI_BOTTOM:
// there, the type is moved down and the address up by the same distance.
class AtAddress {
  public:
    explicit AtAddress(const Elements& elements)
        : address_(static_cast<char*>(const_cast<void*>(elements.address))),
          count_(static_cast<int>(elements.count)),
          type_(elements.type) {
        if (address_ != nullptr) return;
        constexpr std::intptr_t distance = 4096;
        const MPI_Aint down = -distance;
        PMPI_Type_create_hindexed(1, &count_, &down, elements.type, &type_);
        PMPI_Type_commit(&type_);
        address_ = reinterpret_cast<char*>(distance);
        count_ = 1;
        made_ = true;
    }
    ~AtAddress() {
        if (made_) PMPI_Type_free(&type_);
    }
    AtAddress& operator=(AtAddress&&) = delete;

    char* address() const { return address_; }
    int count() const { return count_; }
    MPI_Datatype type() const { return type_; }

  private:
    char* address_;
    int count_;
    MPI_Datatype type_;
    bool made_ = false;
};

enum class Direction { pack, unpack };

int by_call(Direction direction, const Elements& elements, std::byte* bytes) {
    const AtAddress placed(elements);
    const auto size = static_cast<int>(elements.bytes());
    int position = 0;
    return direction == Direction::pack ? PMPI_Pack(placed.address(), placed.count(), placed.type(), bytes,
                                                    size, &position, own_communicator())
                                        : PMPI_Unpack(bytes, size, &position, placed.address(),
                                                      placed.count(), placed.type(), own_communicator());
}

// By a message of this rank to itself, whose bytes no int counts. Entry keeps other threads out, whose
// messages would have the same tag.
int by_message(Direction direction, const Elements& elements, std::byte* bytes) try {
    const AtAddress placed(elements);
    const ByteSpan packed(elements.bytes(), MPI_PACKED);
    const auto transfer = [](const void* from, const auto& sent, void* to, const auto& received) {
        return PMPI_Sendrecv(from, sent.count(), sent.type(), 0, packing_tag, to, received.count(),
                             received.type(), 0, packing_tag, own_communicator(), MPI_STATUS_IGNORE);
    };
    return direction == Direction::pack ? transfer(placed.address(), placed, bytes, packed)
                                        : transfer(bytes, packed, placed.address(), placed);
} catch (const MpiError& error) {
    return error.mpi_code();
}

// As many elements at once as have `max` bytes, and larger elements one by one.
int in_runs(Direction direction, const Elements& elements, std::byte* bytes, std::uint64_t max) {
    if (elements.bytes() == 0) return MPI_SUCCESS;
    if (elements.layout.contiguous) {
        void* const memory = const_cast<void*>(elements.address);
        direction == Direction::pack ? std::memcpy(bytes, memory, elements.bytes())
                                     : std::memcpy(memory, bytes, elements.bytes());
        return MPI_SUCCESS;
    }
    const std::uint64_t at_once = std::max<std::uint64_t>(1, max / elements.layout.size);
    for (std::uint64_t first = 0; first < elements.count; first += at_once) {
        const Elements run =
            elements.from(static_cast<std::int64_t>(first), std::min(at_once, elements.count - first));
        const int error =
            run.bytes() <= max ? by_call(direction, run, bytes) : by_message(direction, run, bytes);
        if (error != MPI_SUCCESS) return error;
        bytes += run.bytes();
    }
    return MPI_SUCCESS;
}

}  // namespace

int pack(const Elements& elements, std::byte* bytes, std::uint64_t max) {
    return in_runs(Direction::pack, elements, bytes, max);
}

int unpack(const std::byte* bytes, const Elements& elements, std::uint64_t max) {
    return in_runs(Direction::unpack, elements, const_cast<std::byte*>(bytes), max);
}

}  // namespace lapwing
