// A drawing of lists in Graphviz' dot language: a column per rank, its tasks from top to bottom, and an
// arrow from every send to the receive that it meets. Boxes have their places already: `dot` only renders
// them.
#pragma once

#include <span>
#include <string>

#include "task/list.hpp"

namespace lapwing {

// `lists` are those of all ranks or of some; arrows to ranks that are not drawn end in a stub, and so does a
// message that meets nothing.
std::string draw(std::span<const List> lists, const std::string& title);

}  // namespace lapwing
