// Functions and source lines of addresses, by the elfutils that the tool is linked with.
#pragma once

#include "watch/symbols.hpp"

namespace lapwing::tool {

// Also reads debug files that are separate from their modules. Asks no server for files.
watch::Symbols linked_symbols();

}  // namespace lapwing::tool
