// Buffers of messages: how they lie in memory, and what they must hold.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "random.hpp"

namespace point_to_point {

inline std::size_t as_size(int value) {
    return static_cast<std::size_t>(value);
}

struct Element {
    MPI_Datatype type = MPI_BYTE;
    int size = 1;

    int count_in(const MPI_Status& status) const {
        int count = 0;
        MPI_Get_elements(&status, type, &count);
        return count;
    }
};

// How a buffer holds its elements. Equal on all ranks, so that the plan knows how many elements a send can
// have.
struct Shape {
    enum class Form {
        contiguous,
        absolute,  // at MPI_BOTTOM
        blocks     // in memory in the reverse order, with gaps
    };
    Form form = Form::contiguous;
    int block = 1;
    int blocks = 1;
    int gap = 0;

    Shape() = default;
    explicit Shape(Random& random)
        : form(random.below(3) > 0 ? Form::contiguous : static_cast<Form>(random.below(3))),
          block(1 + random.below(5)),
          blocks(1 + random.below(4)),
          gap(1 + random.below(3)) {}
    // The number of elements is a multiple of this.
    int period() const { return form == Form::blocks ? block * blocks : 1; }
    int rounded(int count) const { return (count + period() - 1) / period() * period(); }
    // Where in memory a period begins, and one element is, in elements.
    int extent() const { return form == Form::blocks ? blocks * (block + gap) : 1; }
    int place(int i) const;
};

// A buffer of a shape, and the arguments that describe it to MPI.
class Buffer {
  public:
    Buffer() = default;
    Buffer(const Shape& shape, const Element& element, int elements);

    void* address() { return shape_.form == Shape::Form::absolute ? MPI_BOTTOM : memory_.data(); }
    int count() const { return count_; }
    MPI_Datatype type() const { return type_; }
    // Messages in flight keep the type.
    void free_type();
    void clear();
    // The data of message `id`.
    void fill(std::uint64_t id, int elements) { fill(memory_, id, elements); }
    // The first byte that is not as after a receive of this message; -1: all are.
    long first_difference(std::uint64_t id, int elements) const;
    bool untouched() const { return first_difference(0, 0) == -1; }

  private:
    using Bytes = std::vector<unsigned char>;
    void fill(Bytes& memory, std::uint64_t id, int elements) const;

    Shape shape_;
    Element element_;
    MPI_Datatype type_ = MPI_DATATYPE_NULL;
    int count_ = 0;
    Bytes memory_;
};

}  // namespace point_to_point
