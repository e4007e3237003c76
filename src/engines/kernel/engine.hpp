// The kernel engine: Linux runs the list. The engine submits the list's chain form (task/chains.hpp) to
// io_uring as linked operations on sockets. The kernel sends, receives, waits and begins the next step while
// the program computes, and reports only the end of a chain. That needs no thread, no privilege and no spare
// core.
//
// The idea is CORE-Direct's (Graham et al. 2010), where the network card runs the list.
//
// The files, from a list to its completion:
//   chain_plan                   the plan of a list, made once
//   prepared, run                the runs of a list, each with its progress (chain_progress)
//   group, event_thread          a group takes runs through their stages, by
//     lanes                        the lanes of runs
//     submission                   chains into io_uring (ring), and their completions
//     run                          the same steps by plain system calls, and the steps that the processor
//     does
//   trace                        the events of a traced job
#pragma once

#include "engines/engine.hpp"

namespace lapwing {

const Engine& kernel_engine();

}  // namespace lapwing
