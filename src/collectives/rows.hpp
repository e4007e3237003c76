// Declares every algorithm of the catalogue as <folder>::<name>; its file defines it.
#pragma once

#include "collectives/algorithm.hpp"

namespace lapwing {

#define LAPWING_ALGORITHM(collective, folder, name) \
    namespace folder {                              \
    extern const Algorithm name;                    \
    }
#include "collectives/algorithms.def"

}  // namespace lapwing
