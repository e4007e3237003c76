#include "base/floating_point.hpp"

#include <limits>

namespace lapwing {

// By operations that the processor does as those of the reduction: x86-64 has two units with flags and traps
// of their own, and feraiseexcept() raises some flags in the one for long double.
void ProgramFloatingPoint::raise(int flags) {
    using Limits = std::numeric_limits<double>;
    volatile double zero = 0;
    volatile double three = 3;
    volatile double largest = Limits::max();
    volatile double smallest = Limits::min();
    volatile double result [[maybe_unused]] = 0;
    if ((flags & FE_INVALID) != 0) result = zero / zero;
    if ((flags & FE_DIVBYZERO) != 0) result = three / zero;
    if ((flags & FE_OVERFLOW) != 0) result = largest * largest;
    if ((flags & FE_UNDERFLOW) != 0) result = smallest * smallest;
    if ((flags & FE_INEXACT) != 0) result = 1 / three;
}

}  // namespace lapwing
