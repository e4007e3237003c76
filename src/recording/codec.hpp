// The bytes of recorded calls and of blocks of a sequence.
//
// Numbers are in LEB128 form: seven bits in each byte, the lowest first. A call is a bit mask of its fields
// that differ from the default, and these fields. A block has a dictionary of its calls, then its elements:
//   call   index in the dictionary * 2, then the times of all occurrences or, if there are more than
//          Times::max_samples, their sum, the shortest time inside the call, and samples. The number of
//          occurrences follows from the loops.
//   loop   elements of the body * 2 + 1, number of runs of its passes, each run (passes, times), the body
// A block can be read without those before it.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "recording/folding.hpp"
#include "recording/recording.hpp"

namespace lapwing::recording {

// Replaces `bytes` by the encoded call, which is not empty.
void encode(const Call& call, std::string& bytes);

std::string encode(std::span<const Folding::Element> elements);

// Appends the block's elements to the thread. Throws Error (parse) if the bytes are not a block.
void decode(std::string_view block, Thread& thread);

}  // namespace lapwing::recording
