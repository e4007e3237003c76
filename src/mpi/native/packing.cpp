#include "mpi/native/packing.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <numeric>
#include <vector>

#include "links/mpi/own_communicator.hpp"
#include "mpi/native/contents.hpp"

namespace lapwing {
namespace {

// Takes one run of an element, of at most so many bytes and with a type of its own.
using EachRun = std::function<int(char* at, MPI_Datatype type, std::uint64_t bytes)>;

// One dimension of an array. An element has a part of it.
struct Dimension {
    std::int64_t length;
    // Indices [first, first + block), and again at each step.
    std::int64_t first;
    std::int64_t block;
    std::int64_t step;
};

class RunsOfType {
  public:
    RunsOfType(std::uint64_t max, const EachRun& each) : max_(max), each_(each) {}

    int element(char* at, MPI_Datatype type) const {
        Contents contents;
        if (const int error = contents.read(type); error != MPI_SUCCESS) return error;
        const auto& [combiner, integers, addresses, types] = contents;
        if (combiner == MPI_COMBINER_NAMED) return made_run(at, 1, 1, 0, type);
        const TypeHandle& base = types.front();
        const std::size_t number = integers.empty() ? 0 : static_cast<std::size_t>(integers[0]);
        // By a name of its own: clang 14 captures no structured binding.
        const auto listed = [&, &integers = integers](std::size_t first) {
            return std::vector<std::int64_t>(integers.begin() + static_cast<std::ptrdiff_t>(first),
                                             integers.begin() + static_cast<std::ptrdiff_t>(first + number));
        };
        const auto offsets = [&](std::size_t first) {
            std::vector<MPI_Aint> found;
            for (const std::int64_t offset : listed(first)) found.push_back(offset * base.extent());
            return found;
        };
        switch (combiner) {
            case MPI_COMBINER_DUP:
            case MPI_COMBINER_RESIZED:
                return blocks(at, 1, 1, 0, base);
            case MPI_COMBINER_CONTIGUOUS:
                return blocks(at, number, 1, base.extent(), base);
            case MPI_COMBINER_VECTOR:
                return blocks(at, number, integers[1], integers[2] * base.extent(), base);
            case MPI_COMBINER_HVECTOR:
                return blocks(at, number, integers[1], addresses[0], base);
            case MPI_COMBINER_INDEXED:
                return list(at, listed(1), offsets(1 + number), types);
            case MPI_COMBINER_HINDEXED:
                return list(at, listed(1), addresses, types);
            case MPI_COMBINER_INDEXED_BLOCK:
                return list(at, std::vector<std::int64_t>(number, integers[1]), offsets(2), types);
            case MPI_COMBINER_HINDEXED_BLOCK:
                return list(at, std::vector<std::int64_t>(number, integers[1]), addresses, types);
            case MPI_COMBINER_STRUCT:
                return list(at, listed(1), addresses, types);
            case MPI_COMBINER_SUBARRAY:
                return array(at, subarray(integers), types);
            case MPI_COMBINER_DARRAY:
                return array(at, share_of_array(integers), types);
            default:
                return MPI_ERR_TYPE;
        }
    }

  private:
    // `number` blocks of `length` elements, `stride` bytes apart.
    int blocks(char* at, std::size_t number, std::int64_t length, MPI_Aint stride,
               const TypeHandle& base) const {
        const std::uint64_t bytes = base.size() * static_cast<std::uint64_t>(length);
        if (bytes == 0) return MPI_SUCCESS;
        if (bytes > max_ && length > 1) {
            for (std::size_t i = 0; i < number; ++i) {
                char* const block = at + static_cast<MPI_Aint>(i) * stride;
                const int error = blocks(block, static_cast<std::size_t>(length), 1, base.extent(), base);
                if (error != MPI_SUCCESS) return error;
            }
            return MPI_SUCCESS;
        }
        const auto at_once = static_cast<std::size_t>(std::max<std::uint64_t>(1, max_ / bytes));
        for (std::size_t i = 0; i < number; i += at_once) {
            char* const run = at + static_cast<MPI_Aint>(i) * stride;
            const int error = bytes > max_ ? element(run, base.handle())
                                           : made_run(run, static_cast<int>(std::min(at_once, number - i)),
                                                      static_cast<int>(length), stride, base.handle());
            if (error != MPI_SUCCESS) return error;
        }
        return MPI_SUCCESS;
    }

    // Blocks at offsets, all of one type or each of its own.
    int list(char* at, const std::vector<std::int64_t>& lengths, const std::vector<MPI_Aint>& offsets,
             const std::vector<TypeHandle>& types) const {
        const auto type = [&](std::size_t i) -> const TypeHandle& {
            return types[types.size() == 1 ? 0 : i];
        };
        const auto bytes = [&](std::size_t i) {
            return type(i).size() * static_cast<std::uint64_t>(lengths[i]);
        };
        for (std::size_t i = 0; i < lengths.size();) {
            if (bytes(i) > max_) {
                const int error = blocks(at + offsets[i], static_cast<std::size_t>(lengths[i]), 1,
                                         type(i).extent(), type(i));
                if (error != MPI_SUCCESS) return error;
                ++i;
                continue;
            }
            std::vector<int> some_lengths;
            std::vector<MPI_Aint> some_offsets;
            std::vector<MPI_Datatype> handles;
            for (std::uint64_t sum = 0; i < lengths.size() && sum + bytes(i) <= max_; ++i) {
                if (bytes(i) == 0) continue;
                sum += bytes(i);
                some_lengths.push_back(static_cast<int>(lengths[i]));
                some_offsets.push_back(offsets[i]);
                handles.push_back(type(i).handle());
            }
            if (handles.empty()) continue;
            MPI_Datatype made = MPI_DATATYPE_NULL;
            int error = PMPI_Type_create_struct(static_cast<int>(handles.size()), some_lengths.data(),
                                                some_offsets.data(), handles.data(), &made);
            if (error == MPI_SUCCESS) error = run(at, TypeHandle(made));
            if (error != MPI_SUCCESS) return error;
        }
        return MPI_SUCCESS;
    }

    // The dimensions from `which` on; the first is the slowest.
    int array(char* at, const std::vector<Dimension>& dimensions, const std::vector<TypeHandle>& base,
              std::size_t which = 0) const {
        const Dimension& slowest = dimensions[which];
        const MPI_Aint stride = stride_of(dimensions, which, base.front());
        const Runs runs(slowest, stride);
        if (which + 1 == dimensions.size()) return list(at, runs.lengths, runs.offsets, base);
        if (size_of(dimensions, which + 1, base.front()) <= max_) {
            MPI_Datatype made = MPI_DATATYPE_NULL;
            const int error = make_array(dimensions, which + 1, base.front(), &made);
            if (error != MPI_SUCCESS) return error;
            std::vector<TypeHandle> faster;
            faster.emplace_back(made);
            return list(at, runs.lengths, runs.offsets, faster);
        }
        for (std::int64_t first = slowest.first; first < slowest.length; first += slowest.step) {
            for (std::int64_t i = first; i < std::min(first + slowest.block, slowest.length); ++i) {
                const int error = array(at + i * stride, dimensions, base, which + 1);
                if (error != MPI_SUCCESS) return error;
            }
        }
        return MPI_SUCCESS;
    }

    // The part of a dimension whose indices are `stride` bytes apart.
    struct Runs {
        std::vector<std::int64_t> lengths;
        std::vector<MPI_Aint> offsets;
        Runs(const Dimension& dimension, MPI_Aint stride) {
            for (std::int64_t first = dimension.first; first < dimension.length; first += dimension.step) {
                lengths.push_back(std::min(dimension.block, dimension.length - first));
                offsets.push_back(first * stride);
            }
        }
    };

    static MPI_Aint stride_of(const std::vector<Dimension>& dimensions, std::size_t which,
                              const TypeHandle& base) {
        MPI_Aint stride = base.extent();
        for (std::size_t i = which + 1; i < dimensions.size(); ++i) stride *= dimensions[i].length;
        return stride;
    }

    static std::uint64_t size_of(const std::vector<Dimension>& dimensions, std::size_t which,
                                 const TypeHandle& base) {
        std::uint64_t size = base.size();
        for (std::size_t i = which; i < dimensions.size(); ++i) {
            const Runs runs(dimensions[i], 1);
            size *= std::accumulate(runs.lengths.begin(), runs.lengths.end(), std::uint64_t{0});
        }
        return size;
    }

    // The type of an array of the dimensions from `which` on.
    static int make_array(const std::vector<Dimension>& dimensions, std::size_t which, const TypeHandle& base,
                          MPI_Datatype* made) {
        MPI_Datatype faster = base.handle();
        for (std::size_t i = dimensions.size(); i-- > which;) {
            const MPI_Aint stride = stride_of(dimensions, i, base);
            const Runs runs(dimensions[i], stride);
            const std::vector<int> lengths(runs.lengths.begin(), runs.lengths.end());
            MPI_Datatype part = MPI_DATATYPE_NULL;
            int error = PMPI_Type_create_hindexed(static_cast<int>(runs.lengths.size()), lengths.data(),
                                                  runs.offsets.data(), faster, &part);
            if (faster != base.handle()) PMPI_Type_free(&faster);
            if (error != MPI_SUCCESS) return error;
            error = PMPI_Type_create_resized(part, 0, dimensions[i].length * stride, &faster);
            PMPI_Type_free(&part);
            if (error != MPI_SUCCESS) return error;
        }
        *made = faster;
        return MPI_SUCCESS;
    }

    static std::vector<Dimension> in_order(std::vector<Dimension> dimensions, std::int64_t order) {
        if (order == MPI_ORDER_FORTRAN) std::reverse(dimensions.begin(), dimensions.end());
        return dimensions;
    }

    static std::vector<Dimension> subarray(const std::vector<std::int64_t>& integers) {
        const auto number = static_cast<std::size_t>(integers[0]);
        std::vector<Dimension> dimensions;
        for (std::size_t i = 1; i <= number; ++i) {
            const std::int64_t length = integers[i];
            dimensions.push_back({length, integers[2 * number + i], integers[number + i], length});
        }
        return in_order(dimensions, integers[3 * number + 1]);
    }

    static std::vector<Dimension> share_of_array(const std::vector<std::int64_t>& integers) {
        std::int64_t rank = integers[1];
        const auto number = static_cast<std::size_t>(integers[2]);
        std::vector<Dimension> dimensions(number);
        // Ranks are in row-major order.
        for (std::size_t i = number; i-- > 0;) {
            const std::int64_t length = integers[3 + i];
            const std::int64_t distribution = integers[3 + number + i];
            const std::int64_t argument = integers[3 + 2 * number + i];
            const std::int64_t ranks = integers[3 + 3 * number + i];
            std::int64_t block = argument;
            if (distribution == MPI_DISTRIBUTE_NONE)
                block = length;
            else if (argument == MPI_DISTRIBUTE_DFLT_DARG)
                block = distribution == MPI_DISTRIBUTE_BLOCK ? (length + ranks - 1) / ranks : 1;
            dimensions[i] = {length, rank % ranks * block, block, ranks * block};
            rank /= ranks;
        }
        return in_order(dimensions, integers[3 + 4 * number]);
    }

    int made_run(char* at, int number, int length, MPI_Aint stride, MPI_Datatype base) const {
        MPI_Datatype made = MPI_DATATYPE_NULL;
        const int error = PMPI_Type_create_hvector(number, length, stride, base, &made);
        return error == MPI_SUCCESS ? run(at, TypeHandle(made)) : error;
    }

    int run(char* at, const TypeHandle& made) const {
        MPI_Datatype handle = made.handle();
        const int error = PMPI_Type_commit(&handle);
        return error == MPI_SUCCESS ? each_(at, handle, made.size()) : error;
    }
    const std::uint64_t max_;
    const EachRun& each_;
};

// Calls `each(at, type, bytes)` for the runs of the element at `at`, of at most `max` bytes each, until one
// returns an error. The types of the runs are committed, and freed afterwards.
int take_apart(char* at, MPI_Datatype type, std::uint64_t max, const EachRun& each) {
    return RunsOfType(max, each).element(at, type);
}

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
