// The handler of SIGSEGV that stands before the program's.
#pragma once

#include <cstdint>

namespace lapwing::first_touch {

// Installs the handler, once. The program's handler, present and future, is called for other faults.
void install_handler();

// In guards.cpp, for the handler. Lifts the guard at this address; false: there is none.
bool handle_fault(std::uintptr_t address, bool writes);
// Whether there was a guard not long ago: another thread may have lifted it after the fault.
bool was_guarded(std::uintptr_t address);

}  // namespace lapwing::first_touch
