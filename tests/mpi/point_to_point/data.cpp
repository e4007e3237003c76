#include "point_to_point/data.hpp"

#include <algorithm>
#include <cstring>

namespace point_to_point {
namespace {

constexpr unsigned char untouched_byte = 0xA5;

}  // namespace

int Shape::place(int i) const {
    if (form != Form::blocks) return i;
    const int number = blocks - 1 - i % period() / block;
    return i / period() * extent() + number * (block + gap) + i % block;
}

Buffer::Buffer(const Shape& shape, const Element& element, int elements)
    : shape_(shape), element_(element), type_(element.type), count_(elements / shape.period()) {
    memory_.assign(as_size(count_ * shape.extent() * element.size) + 8, untouched_byte);
    if (shape.form == Shape::Form::absolute) {
        MPI_Aint address = 0;
        MPI_Get_address(memory_.data(), &address);
        MPI_Type_create_hindexed(1, &count_, &address, element.type, &type_);
        count_ = 1;
    } else if (shape.form == Shape::Form::blocks) {
        std::vector<int> displacements;
        for (int i = 0; i < shape.period(); i += shape.block) displacements.push_back(shape.place(i));
        MPI_Datatype blocks = MPI_DATATYPE_NULL;
        MPI_Type_create_indexed_block(shape.blocks, shape.block, displacements.data(), element.type, &blocks);
        MPI_Type_create_resized(blocks, 0, shape.extent() * element.size, &type_);
        MPI_Type_free(&blocks);
    }
    if (type_ != element.type) MPI_Type_commit(&type_);
}

void Buffer::free_type() {
    if (type_ != element_.type && type_ != MPI_DATATYPE_NULL) MPI_Type_free(&type_);
    type_ = MPI_DATATYPE_NULL;
}

void Buffer::clear() {
    std::fill(memory_.begin(), memory_.end(), untouched_byte);
}

long Buffer::first_difference(std::uint64_t id, int elements) const {
    Bytes expected(memory_.size(), untouched_byte);
    fill(expected, id, elements);
    if (expected == memory_) return -1;
    return std::mismatch(memory_.begin(), memory_.end(), expected.begin()).first - memory_.begin();
}

void Buffer::fill(Bytes& memory, std::uint64_t id, int elements) const {
    Bytes data(as_size(elements * element_.size) + 8);
    for (std::size_t i = 0; i + 8 <= data.size(); i += 8) {
        std::uint64_t word = (id << 32) + i;
        word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9U;
        word ^= word >> 27;
        std::memcpy(&data[i], &word, 8);
    }
    const auto copy = [&](int from, int to, int count) {
        std::memcpy(&memory[as_size(to * element_.size)], &data[as_size(from * element_.size)],
                    as_size(count * element_.size));
    };
    if (shape_.form != Shape::Form::blocks) return copy(0, 0, elements);
    for (int i = 0; i < elements; ++i) copy(i, shape_.place(i), 1);
}

}  // namespace point_to_point
