// The mlx5 engine: a ConnectX card runs the list, by cross-channel work requests (CORE-Direct, Graham et al.
// 2010). The list's work queues (work_queues.hpp) are posted by plain stores; the card sends, waits and
// sends on while the program computes.
//
//   device     the seam: queues as memory; a card (devx) or the tests' double
//   wqe        requests and completions, byte for byte
//   requests   a list's requests as such entries
//   queues     posting and reading
//   lane       the queues of collectives that take them in turn
//   landing    where peers write messages to
//   keep_alive whether peers are there
//   plan, run  a list, and one run
//   prepared   advances runs
//   group      what the lists of a group share
//   probe      whether a card does what the engine needs
//
// It has never run on a card: see docs/compatibility.md.
#pragma once

#include <memory>

#include "engines/engine.hpp"
#include "engines/mlx5/device.hpp"
#include "engines/mlx5/work_queues.hpp"

namespace lapwing {

const Engine& mlx5_engine();

// For one group. Device and link must outlive the result.
std::unique_ptr<GroupEngine> open_mlx5_group(mlx5::Device& device, Link& messages,
                                             const WorkVariant& variant);

}  // namespace lapwing
