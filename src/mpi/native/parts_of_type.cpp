#include "mpi/native/parts_of_type.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace lapwing {
namespace {

// A type that is freed, unless it is predefined.
class Type {
  public:
    explicit Type(MPI_Datatype type) : type_(type) {}
    ~Type() {
        if (type_ != MPI_DATATYPE_NULL && combiner_of(type_) != MPI_COMBINER_NAMED) PMPI_Type_free(&type_);
    }
    Type(Type&& other) noexcept : type_(other.type_) { other.type_ = MPI_DATATYPE_NULL; }
    Type(const Type&) = delete;
    Type& operator=(const Type&) = delete;
    MPI_Datatype handle() const { return type_; }
    std::uint64_t size() const {
        MPI_Count size = 0;
        PMPI_Type_size_x(type_, &size);
        return static_cast<std::uint64_t>(size);
    }
    MPI_Aint extent() const {
        MPI_Aint lower = 0;
        MPI_Aint extent = 0;
        PMPI_Type_get_extent(type_, &lower, &extent);
        return extent;
    }
    static int combiner_of(MPI_Datatype type) {
        int numbers[3] = {};
        int combiner = MPI_COMBINER_NAMED;
        PMPI_Type_get_envelope(type, &numbers[0], &numbers[1], &numbers[2], &combiner);
        return combiner;
    }

  private:
    MPI_Datatype type_;
};

// What a type was made of, in the order of MPI_Type_get_contents.
struct Contents {
    int combiner = MPI_COMBINER_NAMED;
    std::vector<int> integers;
    std::vector<MPI_Aint> addresses;
    std::vector<Type> types;

    int read(MPI_Datatype type) {
        int numbers[3] = {};
        int error = PMPI_Type_get_envelope(type, &numbers[0], &numbers[1], &numbers[2], &combiner);
        if (error != MPI_SUCCESS || combiner == MPI_COMBINER_NAMED) return error;
        integers.resize(static_cast<std::size_t>(std::max(1, numbers[0])));
        addresses.resize(static_cast<std::size_t>(std::max(1, numbers[1])));
        std::vector<MPI_Datatype> handles(static_cast<std::size_t>(numbers[2]), MPI_DATATYPE_NULL);
        error = PMPI_Type_get_contents(type, numbers[0], numbers[1], numbers[2], integers.data(),
                                       addresses.data(), handles.data());
        for (const MPI_Datatype handle : handles) types.emplace_back(handle);
        return error;
    }
};

// One dimension of an array of which an element has a part.
struct Dimension {
    int length;
    // Indices [first, end), and again at each step.
    int first;
    int block;
    int step;
};

class Parts {
  public:
    Parts(std::uint64_t most, const EachRun& each) : most_(most), each_(each) {}

    int element(char* at, MPI_Datatype type) const {
        Contents contents;
        if (const int error = contents.read(type); error != MPI_SUCCESS) return error;
        const auto& [combiner, integers, addresses, types] = contents;
        if (combiner == MPI_COMBINER_NAMED) return made_run(at, 1, 1, 0, type);
        const Type& base = types.front();
        const auto number = static_cast<std::size_t>(integers[0]);
        const auto listed = [&](std::size_t first) {
            return std::vector<int>(integers.begin() + static_cast<std::ptrdiff_t>(first),
                                    integers.begin() + static_cast<std::ptrdiff_t>(first + number));
        };
        const auto places = [&](std::size_t first) {
            std::vector<MPI_Aint> found;
            for (const int place : listed(first)) found.push_back(place * base.extent());
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
                return list(at, listed(1), places(1 + number), types);
            case MPI_COMBINER_HINDEXED:
                return list(at, listed(1), addresses, types);
            case MPI_COMBINER_INDEXED_BLOCK:
                return list(at, std::vector<int>(number, integers[1]), places(2), types);
            case MPI_COMBINER_HINDEXED_BLOCK:
                return list(at, std::vector<int>(number, integers[1]), addresses, types);
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
    // Blocks of so many elements, one after another by `stride` bytes.
    int blocks(char* at, std::size_t number, int length, MPI_Aint stride, const Type& base) const {
        const std::uint64_t bytes = base.size() * static_cast<std::uint64_t>(length);
        if (bytes == 0) return MPI_SUCCESS;
        if (bytes > most_ && length > 1) {
            for (std::size_t i = 0; i < number; ++i) {
                char* const block = at + static_cast<MPI_Aint>(i) * stride;
                const int error = blocks(block, static_cast<std::size_t>(length), 1, base.extent(), base);
                if (error != MPI_SUCCESS) return error;
            }
            return MPI_SUCCESS;
        }
        const auto at_once = static_cast<std::size_t>(std::max<std::uint64_t>(1, most_ / bytes));
        for (std::size_t i = 0; i < number; i += at_once) {
            char* const run = at + static_cast<MPI_Aint>(i) * stride;
            const int error = bytes > most_ ? element(run, base.handle())
                                            : made_run(run, static_cast<int>(std::min(at_once, number - i)),
                                                       length, stride, base.handle());
            if (error != MPI_SUCCESS) return error;
        }
        return MPI_SUCCESS;
    }

    // Blocks at places of their own, of one type or of as many as there are blocks.
    int list(char* at, const std::vector<int>& lengths, const std::vector<MPI_Aint>& places,
             const std::vector<Type>& types) const {
        const auto type = [&](std::size_t i) -> const Type& { return types[types.size() == 1 ? 0 : i]; };
        const auto bytes = [&](std::size_t i) {
            return type(i).size() * static_cast<std::uint64_t>(lengths[i]);
        };
        for (std::size_t i = 0; i < lengths.size();) {
            int error = MPI_SUCCESS;
            std::uint64_t sum = 0;
            std::size_t end = i;
            std::vector<MPI_Datatype> handles;
            for (; end < lengths.size() && sum + bytes(end) <= most_; ++end) {
                sum += bytes(end);
                handles.push_back(type(end).handle());
            }
            if (end == i) {
                error = blocks(at + places[i], static_cast<std::size_t>(lengths[i]), 1, type(i).extent(),
                               type(i));
                ++end;
            } else if (sum > 0) {
                MPI_Datatype made = MPI_DATATYPE_NULL;
                error = PMPI_Type_create_struct(static_cast<int>(end - i), &lengths[i], &places[i],
                                                handles.data(), &made);
                if (error == MPI_SUCCESS) error = run(at, Type(made));
            }
            if (error != MPI_SUCCESS) return error;
            i = end;
        }
        return MPI_SUCCESS;
    }

    // From the dimension `which` on; the slowest is the first.
    int array(char* at, const std::vector<Dimension>& dimensions, const std::vector<Type>& base,
              std::size_t which = 0) const {
        const Dimension& slowest = dimensions[which];
        const MPI_Aint stride = stride_of(dimensions, which, base.front());
        std::vector<Type> faster;
        if (which + 1 < dimensions.size()) {
            MPI_Datatype made = MPI_DATATYPE_NULL;
            const int error = make_array(dimensions, which + 1, base.front(), &made);
            faster.emplace_back(made);
            if (error != MPI_SUCCESS) return error;
        }
        if (faster.empty() || faster.front().size() <= most_) {
            const Runs runs(slowest, stride);
            return list(at, runs.lengths, runs.places, faster.empty() ? base : faster);
        }
        for (int first = slowest.first; first < slowest.length; first += slowest.step) {
            for (int i = first; i < std::min(first + slowest.block, slowest.length); ++i) {
                const int error = array(at + i * stride, dimensions, base, which + 1);
                if (error != MPI_SUCCESS) return error;
            }
        }
        return MPI_SUCCESS;
    }

    // The part of a dimension, each index `stride` bytes after the one before.
    struct Runs {
        std::vector<int> lengths;
        std::vector<MPI_Aint> places;
        Runs(const Dimension& dimension, MPI_Aint stride) {
            for (int first = dimension.first; first < dimension.length; first += dimension.step) {
                lengths.push_back(std::min(dimension.block, dimension.length - first));
                places.push_back(first * stride);
            }
        }
    };

    static MPI_Aint stride_of(const std::vector<Dimension>& dimensions, std::size_t which, const Type& base) {
        MPI_Aint stride = base.extent();
        for (std::size_t i = which + 1; i < dimensions.size(); ++i) stride *= dimensions[i].length;
        return stride;
    }

    // The type of an array of the dimensions from `which` on.
    static int make_array(const std::vector<Dimension>& dimensions, std::size_t which, const Type& base,
                          MPI_Datatype* made) {
        MPI_Datatype faster = base.handle();
        for (std::size_t i = dimensions.size(); i-- > which;) {
            const MPI_Aint stride = stride_of(dimensions, i, base);
            const Runs runs(dimensions[i], stride);
            MPI_Datatype part = MPI_DATATYPE_NULL;
            int error = PMPI_Type_create_hindexed(static_cast<int>(runs.lengths.size()), runs.lengths.data(),
                                                  runs.places.data(), faster, &part);
            if (faster != base.handle()) PMPI_Type_free(&faster);
            if (error != MPI_SUCCESS) return error;
            error = PMPI_Type_create_resized(part, 0, dimensions[i].length * stride, &faster);
            PMPI_Type_free(&part);
            if (error != MPI_SUCCESS) return error;
        }
        *made = faster;
        return MPI_SUCCESS;
    }

    static std::vector<Dimension> in_order(std::vector<Dimension> dimensions, int order) {
        if (order == MPI_ORDER_FORTRAN) std::reverse(dimensions.begin(), dimensions.end());
        return dimensions;
    }

    static std::vector<Dimension> subarray(const std::vector<int>& integers) {
        const auto number = static_cast<std::size_t>(integers[0]);
        std::vector<Dimension> dimensions;
        for (std::size_t i = 1; i <= number; ++i) {
            const int length = integers[i];
            dimensions.push_back({length, integers[2 * number + i], integers[number + i], length});
        }
        return in_order(dimensions, integers[3 * number + 1]);
    }

    static std::vector<Dimension> share_of_array(const std::vector<int>& integers) {
        int rank = integers[1];
        const auto number = static_cast<std::size_t>(integers[2]);
        std::vector<Dimension> dimensions(number);
        // The ranks are in the order of a grid's, the last dimension the fastest.
        for (std::size_t i = number; i-- > 0;) {
            const int length = integers[3 + i];
            const int distribution = integers[3 + number + i];
            const int argument = integers[3 + 2 * number + i];
            const int ranks = integers[3 + 3 * number + i];
            int block = argument;
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
        return error == MPI_SUCCESS ? run(at, Type(made)) : error;
    }

    int run(char* at, const Type& made) const {
        MPI_Datatype handle = made.handle();
        const int error = PMPI_Type_commit(&handle);
        return error == MPI_SUCCESS ? each_(at, handle, made.size()) : error;
    }
    const std::uint64_t most_;
    const EachRun& each_;
};

}  // namespace

int take_apart(char* at, MPI_Datatype type, std::uint64_t most, const EachRun& each) {
    return Parts(most, each).element(at, type);
}

}  // namespace lapwing
