// Reductions of floating-point numbers in an associative form: other elements, whose reduction gives the same
// bits for the same contributions, whatever the number and the order of the ranks.
//
//   sum               float16, bfloat16, float32, float64: binned; a complex number: two of them
//   minimum, maximum  float32, float64: integers of the same length and order; -0 is below +0, and a NaN wins
//
// A product has no such form: it would need as many bits as all factors together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "task/task.hpp"

namespace lapwing {

class AssociativeForm {
  public:
    // Returns nothing if the reduction is associative by itself, or has no such form.
    static std::optional<AssociativeForm> of(Operator op, Type type);

    Type type() const;  // of the elements in this form; the operator stays
    // Bytes in this form of `bytes` of the program's elements.
    std::uint64_t bytes(std::uint64_t bytes) const { return bytes * growth_; }
    // Converts `count` bytes of the program's elements, which may be at the end of the memory that `to`
    // begins.
    void encode(std::byte* to, const std::byte* from, std::uint64_t count) const;
    // Converts to `count` bytes of the program's elements, in place.
    void decode(std::byte* elements, std::uint64_t count) const;

  private:
    AssociativeForm(Operator op, Type type) : op_(op), type_(type) {}
    template <typename Visit>
    void with_elements(Visit visit) const;

    Operator op_;
    Type type_;  // of the program's elements; of a complex number, that of its parts
    std::uint64_t growth_ = 1;
};

}  // namespace lapwing
