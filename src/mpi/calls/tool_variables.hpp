// The variables that Lapwing adds to the tool information interface, MPI_T.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <string>

namespace lapwing::tool_variables {

// An index of the program: the native MPI's variables, with Lapwing's `own` ones after the first `native`
// ones. The MPI may add variables later, whose indices come after Lapwing's, because an index must not change
// its meaning.
class Indices {
  public:
    explicit constexpr Indices(int own) : own_(own) {}
    // `native`: how many the MPI has now. Returns how many the program sees.
    int total(int native) {
        int none = -1;
        native_.compare_exchange_strong(none, native);
        return native + own_;
    }
    // Whether it is one of Lapwing's; after total().
    bool is_own(int index) const { return index >= native_ && index < native_ + own_; }
    int own(int index) const { return index - native_; }
    // Of a variable of the MPI.
    int to_native(int index) const { return index < native_ ? index : index - own_; }
    int from_native(int index) const { return index < native_ ? index : index + own_; }
    int from_own(int index) const { return index + native_; }
    int own_variables() const { return own_; }

  private:
    int own_;
    std::atomic<int> native_{-1};
};

// A counter or a timer. Some for each collective, and sums over all of them.
struct Performance {
    std::string name;  // "lapwing_alltoall_calls"
    std::string description;
    bool timer = false;
};
int performance_variables();
Performance performance(int index);
// Its value since the start of the process: a number, or nanoseconds. Outside of Entry.
std::uint64_t value_of(int index);

// A setting: "LAPWING_ENGINE". Its value is that of the environment, or the default.
struct Control {
    std::string name;
    std::string description;
    std::string value;
};
int control_variables();
Control control(int index);

// Copies a string as MPI_T functions return it. `length`: of the buffer, then of the string, with its end.
void copy(const std::string& text, char* buffer, int* length);

}  // namespace lapwing::tool_variables
