// The kernel engine: Linux runs the list. Its chain form (task/chains.hpp) is handed to io_uring as linked
// operations on sockets; the kernel sends, receives, waits and goes on to the next step while the program
// computes, and only the end of a chain is told. No thread is needed, no privilege, no spare core.
//
// The idea is CORE-Direct's (Graham et al. 2010), where the network card is the one that runs the list.
#pragma once

#include "engines/engine.hpp"

namespace lapwing {

const Engine& kernel_engine();

}  // namespace lapwing
