// A collective of a program: its lists, and which ranks run them together.
#pragma once

#include <cstdint>

#include "simulate/lists.hpp"

namespace lapwing::simulate {

// Groups of `lists->ranks` ranks each, `stride` apart: with 1, ranks that follow each other; with the ranks
// of a row, those of a column. Each group runs the lists by itself. The first of a group runs list
// `rotation`, and so on: one set of lists serves for every root.
struct Operation {
    const Lists* lists = nullptr;
    int stride = 1;
    int rotation = 0;
};

}  // namespace lapwing::simulate
