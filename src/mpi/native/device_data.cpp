#include "mpi/native/device_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "device/memory.hpp"
#include "mpi/native/contents.hpp"
#include "mpi/native/packing.hpp"

namespace lapwing {
namespace {

// The bytes from the first to the last byte of elements, as offsets from their address.
struct Range {
    MPI_Aint begin;
    MPI_Aint end;
    std::uint64_t bytes() const { return static_cast<std::uint64_t>(end - begin); }
};

Range span_of(std::uint64_t count, MPI_Datatype type, const Layout& layout) {
    if (layout.contiguous) return {0, static_cast<MPI_Aint>(count * layout.size)};
    MPI_Aint lower = 0;
    MPI_Aint extent = 0;
    PMPI_Type_get_true_extent(type, &lower, &extent);
    const MPI_Aint last = static_cast<MPI_Aint>(count - 1) * layout.extent;
    return {lower + std::min<MPI_Aint>(0, last), lower + extent + std::max<MPI_Aint>(0, last)};
}

// The address of elements may be outside of all memory, such as MPI_BOTTOM.
char* moved(const void* address, MPI_Aint distance) {
    return reinterpret_cast<char*>(reinterpret_cast<std::uintptr_t>(address) +
                                   static_cast<std::uintptr_t>(distance));
}

// Elements at MPI_BOTTOM may be anywhere. Calls `part(address, count, type, layout)` for each nonempty
// component of a datatype that is made of addresses, in the order of the type map.
template <typename Part>
void for_each_part(const void* elements, std::uint64_t count, MPI_Datatype type, const Layout& layout,
                   const Part& part) {
    Contents contents;
    const bool known = contents.read(type) == MPI_SUCCESS;
    const int made_by = known ? contents.combiner : MPI_COMBINER_NAMED;
    const bool of_several = made_by == MPI_COMBINER_STRUCT;
    const bool of_addresses =
        of_several || made_by == MPI_COMBINER_HINDEXED || made_by == MPI_COMBINER_HINDEXED_BLOCK;
    const bool same = made_by == MPI_COMBINER_DUP || made_by == MPI_COMBINER_RESIZED;
    if (!of_addresses && !same) {
        if (count * layout.size > 0) part(elements, count, type, layout);
        return;
    }
    for (std::uint64_t element = 0; element < count; ++element) {
        const char* const begin = moved(elements, static_cast<MPI_Aint>(element) * layout.extent);
        const std::size_t blocks = same ? 1 : static_cast<std::size_t>(contents.integers[0]);
        for (std::size_t i = 0; i < blocks; ++i) {
            const std::int64_t length = same                                     ? 1
                                        : made_by == MPI_COMBINER_HINDEXED_BLOCK ? contents.integers[1]
                                                                                 : contents.integers[i + 1];
            MPI_Datatype base = contents.types[of_several ? i : 0].handle();
            // Packed alone; the program may not have committed this component.
            if (!is_predefined(base)) PMPI_Type_commit(&base);
            for_each_part(same ? begin : moved(begin, contents.addresses[i]),
                          static_cast<std::uint64_t>(length), base, layout_of(base), part);
        }
    }
}

// Calls `work(place, address, count, type, layout, bytes)` for each part until it returns an error. `bytes`:
// the packed bytes of the part. `near`: the place of one of the parts.
template <typename Bytes, typename Work>
int for_each_placed_part(const device::Location& near, const void* elements, std::uint64_t count,
                         MPI_Datatype type, const Layout& layout, Bytes bytes, const Work& work) {
    int error = MPI_SUCCESS;
    for_each_part(elements, count, type, layout,
                  [&](const void* address, std::uint64_t number, MPI_Datatype part, const Layout& of_part) {
                      if (error != MPI_SUCCESS) return;
                      error = work(place_of(address, number, part, of_part, near), address, number, part,
                                   of_part, bytes);
                      bytes += number * of_part.size;
                  });
    return error;
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

device::Location place_of(const void* elements, std::uint64_t count, MPI_Datatype type, const Layout& layout,
                          const device::Location& near) {
    if (elements == MPI_BOTTOM && !layout.contiguous) {
        device::Location found;
        for_each_part(
            elements, count, type, layout,
            [&](const void* address, std::uint64_t number, MPI_Datatype part, const Layout& of_part) {
                const device::Location place = place_of(address, number, part, of_part, near);
                if (place.on_device()) found = place;
            });
        found.in_parts = found.on_device();
        return found;
    }
    const Range span = span_of(count, type, layout);
    const char* const first = moved(elements, span.begin);
    const auto begin = reinterpret_cast<std::uint64_t>(first);
    const std::uint64_t end = begin + span.bytes();
    if (near.on_device() && near.begin <= begin && end <= near.end) {
        device::Location place = near;
        place.in_parts = false;
        return place;
    }
    const device::Location place = device::find(first);
    if (place.end != 0 && end > place.end) {
        throw Error(ErrorCode::system, fmt::format("a buffer of {} bytes ends {} bytes past the end of its "
                                                   "allocation",
                                                   span.bytes(), end - place.end));
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

std::byte* DeviceData::take_span(const device::Location& place, std::uint64_t bytes) {
    copies_.finish();
    spans_.release();
    return spans_.take(place, bytes);
}

int DeviceData::pack(const device::Location& place, const void* elements, std::uint64_t count,
                     MPI_Datatype type, const Layout& layout, std::byte* bytes) {
    if (!place.on_device()) {
        if (!layout.contiguous) return lapwing::pack(elements, count, type, layout, bytes);
        std::memcpy(bytes, elements, count * layout.size);
        return MPI_SUCCESS;
    }
    return error_code_from([&]() -> int {
        if (place.in_parts) {
            return for_each_placed_part(place, elements, count, type, layout, bytes,
                                        [&](const auto&... part) { return pack(part...); });
        }
        if (layout.contiguous) {
            copies_.to_host(place, bytes, elements, count * layout.size);
            return MPI_SUCCESS;
        }
        const Range span = span_of(count, type, layout);
        std::byte* const host = take_span(place, span.bytes());
        copies_.to_host(place, host, moved(elements, span.begin), span.bytes());
        copies_.finish();
        return lapwing::pack(moved(host, -span.begin), count, type, layout, bytes);
    });
}

int DeviceData::unpack(const device::Location& place, const std::byte* bytes, void* elements,
                       std::uint64_t count, MPI_Datatype type, const Layout& layout) {
    if (!place.on_device()) return lapwing::unpack(bytes, elements, count, type, layout);
    return error_code_from([&]() -> int {
        if (place.in_parts) {
            return for_each_placed_part(
                place, elements, count, type, layout, bytes,
                [&](const device::Location& of_part, const void* address, std::uint64_t number,
                    MPI_Datatype part, const Layout& part_layout, const std::byte* packed) {
                    return unpack(of_part, packed, const_cast<void*>(address), number, part, part_layout);
                });
        }
        if (layout.contiguous) {
            copies_.to_device(place, elements, bytes, count * layout.size);
            return MPI_SUCCESS;
        }
        // Gaps keep their bytes: they may be data of an earlier part of the same request.
        const Range span = span_of(count, type, layout);
        std::byte* const host = take_span(place, span.bytes());
        copies_.to_host(place, host, moved(elements, span.begin), span.bytes());
        copies_.finish();
        const int error = lapwing::unpack(bytes, moved(host, -span.begin), count, type, layout);
        if (error == MPI_SUCCESS) copies_.to_device(place, moved(elements, span.begin), host, span.bytes());
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
