// The mlx5 engine: a ConnectX card runs the list, by cross-channel work requests (CORE-Direct, Graham et al.
// 2010). The list's work queues (task/work_queues.hpp) are posted by plain stores; the card sends, waits and
// sends on while the program computes.
//
//   device     the seam: queues as memory; a card (devx) or the tests' double
//   wqe        requests and completions, byte for byte
//   requests   a list's requests as such entries
//   queues     posting and reading
//   lane       the queues of collectives that take them in turn
//   prepared   lists and their runs
//   probe      whether a card does what the engine needs
//
// It has never run on a card: see docs/compatibility.md.
#pragma once

#include "engines/engine.hpp"

namespace lapwing {

const Engine& mlx5_engine();

}  // namespace lapwing
