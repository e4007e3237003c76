// Random types, and memory of the program's with elements of them.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "device_memory.hpp"
#include "operator_table.hpp"
#include "random.hpp"

namespace fuzz {

// A predefined type of the MPI and the operators for it.
struct Basic {
    operator_table::TypeRow row;
    int bytes;               // of one element in memory, with its padding
    std::vector<bool> data;  // of each byte: false in padding
    std::vector<operator_table::OperatorRow> operators;

    bool has_padding() const { return std::find(data.begin(), data.end(), false) != data.end(); }
    void fill(std::byte* at, int value) const;
};
// All types of reductions that this MPI has.
const std::vector<Basic>& basics();
// Those that collectives without a reduction use: the types without padding. MPICH 4.0 writes past types
// that are made of types with padding.
const std::vector<Basic>& basics_to_move();

#ifdef OPEN_MPI
constexpr int number_of_kinds = 5;  // its own collectives refuse types that grow downwards, or mix them up
#else
constexpr int number_of_kinds = 6;
#endif

// A datatype of `units` basic elements, laid out in one way or another; owns it.
class Layout {
  public:
    enum class Kind { plain, contiguous, strided, reversed, spread, backwards };
    static constexpr int kinds = number_of_kinds;
    Layout(const Basic& basic, int units, Kind kind);
    ~Layout();
    Layout(const Layout&) = delete;
    Layout& operator=(const Layout&) = delete;

    MPI_Datatype type() const { return type_; }
    // Elements of the type that carry `units` basic elements.
    int count(int blocks) const { return per_block_ * blocks; }
    MPI_Aint extent() const { return extent_; }
    MPI_Aint lower() const { return lower_; }
    MPI_Aint upper() const { return upper_; }

  private:
    MPI_Datatype type_ = MPI_DATATYPE_NULL;
    bool owned_ = true;
    int per_block_ = 1;
    MPI_Aint extent_ = 0;
    MPI_Aint lower_ = 0;  // of the data of one element
    MPI_Aint upper_ = 0;
};

// Memory of the host or of a device for blocks of elements at displacements in bytes from its address(),
// filled with small values.
class Memory {
  public:
    struct Block {
        MPI_Aint displacement = 0;
        const Layout* layout = nullptr;
        int count = 0;  // elements
    };
    Memory(const Basic& basic, const std::vector<Block>& blocks, std::uint64_t seed, bool on_device);

    void* address() { return bytes_->data() - begin_; }
    void fill(std::uint64_t seed) { bytes_->write(random_bytes(seed)); }
    // The first byte below address() + limit that differs, counted from the first that there is; -1: none.
    // Padding is not compared.
    std::ptrdiff_t first_difference(const Memory& other, std::ptrdiff_t limit) const;

  private:
    std::vector<std::byte> random_bytes(std::uint64_t seed) const;

    const Basic& basic_;
    std::ptrdiff_t begin_ = 0;
    std::size_t size_ = 0;
    std::optional<Buffer<std::byte>> bytes_;
};

}  // namespace fuzz
