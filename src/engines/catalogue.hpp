// All engines, in the order in which "auto" tries them.
#pragma once

#include <span>
#include <string_view>

#include "engines/engine.hpp"

namespace lapwing {

std::span<const Engine* const> engines();

// By name. Throws Error (invalid_argument) that names the nearest engine.
const Engine& find_engine(std::string_view name);

}  // namespace lapwing
