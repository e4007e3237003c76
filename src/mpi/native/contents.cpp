#include "mpi/native/contents.hpp"

#include <cstddef>

namespace lapwing {
namespace {

// The lengths of the lists that MPI_Type_get_contents returns. Large counts of MPI-4 are in a list of their
// own; the older functions refuse types that were made with large counts.
struct Envelope {
    MPI_Count integers = 0;
    MPI_Count addresses = 0;
    MPI_Count large = 0;
    MPI_Count types = 0;
    int combiner = MPI_COMBINER_NAMED;

    int read(MPI_Datatype type) {
#if MPI_VERSION >= 4
        return PMPI_Type_get_envelope_c(type, &integers, &addresses, &large, &types, &combiner);
#else
        int numbers[3] = {};
        const int error = PMPI_Type_get_envelope(type, &numbers[0], &numbers[1], &numbers[2], &combiner);
        integers = numbers[0];
        addresses = numbers[1];
        types = numbers[2];
        return error;
#endif
    }
};

// Room for `number` values. Has an address even if there are none.
template <typename Value>
std::vector<Value> room_for(MPI_Count number, Value value = {}) {
    return std::vector<Value>(static_cast<std::size_t>(number) + 1, value);
}

}  // namespace

int combiner_of(MPI_Datatype type) {
    Envelope envelope;
    envelope.read(type);
    return envelope.combiner;
}

TypeHandle::TypeHandle(TypeHandle&& other) noexcept : handle_(other.handle_) {
    other.handle_ = MPI_DATATYPE_NULL;
}

TypeHandle::~TypeHandle() {
    if (handle_ != MPI_DATATYPE_NULL && !is_predefined(handle_)) PMPI_Type_free(&handle_);
}

bool Contents::has_addresses() const {
    return combiner == MPI_COMBINER_STRUCT || combiner == MPI_COMBINER_HINDEXED ||
           combiner == MPI_COMBINER_HINDEXED_BLOCK;
}

int Contents::read(MPI_Datatype type) {
    Envelope envelope;
    int error = envelope.read(type);
    combiner = envelope.combiner;
    if (error != MPI_SUCCESS || combiner == MPI_COMBINER_NAMED) return error;
    std::vector<int> small = room_for<int>(envelope.integers);
    addresses = room_for<MPI_Aint>(envelope.addresses);
    std::vector<MPI_Datatype> handles = room_for(envelope.types, MPI_DATATYPE_NULL);
#if MPI_VERSION >= 4
    std::vector<MPI_Count> large = room_for<MPI_Count>(envelope.large);
    error =
        PMPI_Type_get_contents_c(type, envelope.integers, envelope.addresses, envelope.large, envelope.types,
                                 small.data(), addresses.data(), large.data(), handles.data());
#else
    error = PMPI_Type_get_contents(type, static_cast<int>(envelope.integers),
                                   static_cast<int>(envelope.addresses), static_cast<int>(envelope.types),
                                   small.data(), addresses.data(), handles.data());
#endif
    handles.pop_back();
    for (const MPI_Datatype handle : handles) types.emplace_back(handle);
    if (error != MPI_SUCCESS) return error;
    small.pop_back();
    addresses.pop_back();
    integers.assign(small.begin(), small.end());
#if MPI_VERSION >= 4
    large.pop_back();
    if (!large.empty() && has_addresses()) {
        // The first of the large counts is that of the addresses, which are the last ones.
        const auto first_address = large.end() - large.front();
        integers.assign(large.begin(), first_address);
        addresses.assign(first_address, large.end());
    }
#endif
    return MPI_SUCCESS;
}

}  // namespace lapwing
