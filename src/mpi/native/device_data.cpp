#include "mpi/native/device_data.hpp"

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <string>

#include "device/memory.hpp"
#include "mpi/native/contents.hpp"
#include "mpi/native/packing.hpp"

namespace lapwing {
namespace {

// The address of elements may be outside of all memory, such as MPI_BOTTOM.
char* moved(const void* address, MPI_Aint distance) {
    return reinterpret_cast<char*>(reinterpret_cast<std::uintptr_t>(address) +
                                   static_cast<std::uintptr_t>(distance));
}

// Elements at MPI_BOTTOM may be anywhere. Calls `part(elements)` for each nonempty component of a datatype
// that is made of addresses, in the order of the type map.
template <typename Part>
void for_each_part(const Elements& elements, const Part& part) {
    Contents contents;
    const bool known = contents.read(elements.type) == MPI_SUCCESS;
    const int made_by = known ? contents.combiner : MPI_COMBINER_NAMED;
    const bool same = made_by == MPI_COMBINER_DUP || made_by == MPI_COMBINER_RESIZED;
    if (!known || !(same || contents.has_addresses())) {
        if (elements.bytes() > 0) part(elements);
        return;
    }
    for (std::uint64_t element = 0; element < elements.count; ++element) {
        const char* const begin =
            moved(elements.address, static_cast<MPI_Aint>(element) * elements.layout.extent);
        const std::size_t blocks = same ? 1 : static_cast<std::size_t>(contents.integers[0]);
        for (std::size_t i = 0; i < blocks; ++i) {
            const std::int64_t length = same                                     ? 1
                                        : made_by == MPI_COMBINER_HINDEXED_BLOCK ? contents.integers[1]
                                                                                 : contents.integers[i + 1];
            MPI_Datatype base = contents.types[made_by == MPI_COMBINER_STRUCT ? i : 0].handle();
            // Packed alone; the program may not have committed this component.
            if (!is_predefined(base)) PMPI_Type_commit(&base);
            const Elements block(same ? begin : moved(begin, contents.addresses[i]),
                                 static_cast<std::uint64_t>(length), base);
            for_each_part(block, part);
        }
    }
}

// Throws Error (system) if the driver fails.
device::Location place_of(const Elements& elements, const device::Location& near) {
    if (elements.bytes() == 0) return {};
    if (elements.address == MPI_BOTTOM && !elements.layout.contiguous) {
        device::Location found;
        for_each_part(elements, [&](const Elements& part) {
            const device::Location place = place_of(part, near);
            if (place.on_device()) found = place;
        });
        found.in_parts = found.on_device();
        return found;
    }
    const Elements::Range span = elements.range();
    const char* const first = moved(elements.address, span.begin);
    const auto begin = reinterpret_cast<std::uint64_t>(first);
    const std::uint64_t end = begin + span.bytes();
    if (near.on_device() && near.begin <= begin && end <= near.end) {
        device::Location place = near;
        place.in_parts = false;
        return place;
    }
    const device::Location place = device::find(first);
    if (place.end != 0 && end > place.end) {
        throw Error(ErrorCode::system, "a buffer of {} bytes ends {} bytes past the end of its allocation",
                    span.bytes(), end - place.end);
    }
    return place;
}

int device_error(const Error& error) {
    static std::mutex mutex;
    static auto& codes = *new std::map<std::string, int>;
    constexpr std::size_t max_codes = 100;
    const std::lock_guard lock(mutex);
    const std::string text =
        fmt::format("lapwing: device memory: {}", error.what()).substr(0, MPI_MAX_ERROR_STRING - 1);
    if (const auto known = codes.find(text); known != codes.end()) return known->second;
    int code = MPI_ERR_OTHER;
    // MPICH adds no codes to its own classes.
    static int error_class = MPI_ERR_OTHER;
    if (codes.empty() && PMPI_Add_error_class(&error_class) != MPI_SUCCESS) return MPI_ERR_OTHER;
    if (codes.size() >= max_codes || PMPI_Add_error_code(error_class, &code) != MPI_SUCCESS)
        return MPI_ERR_OTHER;
    PMPI_Add_error_string(code, text.c_str());
    codes.emplace(text, code);
    return code;
}

// Returns the result of `work`, or the MPI's error code for an exception. `work` must return an int:
// MPI_SUCCESS may be an enumerator.
template <typename Work>
int error_code_from(Work work) {
    try {
        return work();
    } catch (const Error& error) {
        return device_error(error);
    }
}

}  // namespace

int find_place(const Elements& elements, const device::Location& near, device::Location& place) {
    return error_code_from([&]() -> int {
        place = place_of(elements, near);
        return MPI_SUCCESS;
    });
}

std::byte* DeviceData::stage(const device::Location& place, const Elements& elements) {
    const Elements::Range span = elements.range();
    copies_.finish();
    spans_.release();
    std::byte* const host = spans_.take(place, span.bytes());
    copies_.to_host(place, host, moved(elements.address, span.begin), span.bytes());
    copies_.finish();
    return host;
}

int DeviceData::transfer(bool packs, const device::Location& place, const Elements& elements,
                         std::byte* bytes) {
    if (!place.on_device()) return packs ? lapwing::pack(elements, bytes) : lapwing::unpack(bytes, elements);
    return error_code_from([&]() -> int {
        if (place.in_parts) {
            int error = MPI_SUCCESS;
            for_each_part(elements, [&](const Elements& part) {
                if (error != MPI_SUCCESS) return;
                error = transfer(packs, place_of(part, place), part, bytes);
                bytes += part.bytes();
            });
            return error;
        }
        void* const address = const_cast<void*>(elements.address);
        if (elements.layout.contiguous) {
            if (packs)
                copies_.to_host(place, bytes, address, elements.bytes());
            else
                copies_.to_device(place, address, bytes, elements.bytes());
            return MPI_SUCCESS;
        }
        // Also to unpack: gaps keep their bytes, which may be data of an earlier part of the same request.
        const Elements::Range span = elements.range();
        std::byte* const host = stage(place, elements);
        Elements staged = elements;
        staged.address = moved(host, -span.begin);
        if (packs) return lapwing::pack(staged, bytes);
        const int error = lapwing::unpack(bytes, staged);
        if (error == MPI_SUCCESS) copies_.to_device(place, moved(address, span.begin), host, span.bytes());
        return error;
    });
}

int DeviceData::finish() {
    return error_code_from([&]() -> int {
        copies_.finish();
        return MPI_SUCCESS;
    });
}

}  // namespace lapwing
