// The host engine: the caller's processor runs the list inside start, test and wait ("manual progress"); if
// the group has a progress thread, that thread advances the list beside the caller. The engine runs anywhere
// and runs every list. It is the baseline for all other engines, because it does what LibNBC does (Hoefler,
// Lumsdaine, Rehm 2007, "Implementation and Performance Analysis of Non-Blocking Collective Operations for
// MPI").
#pragma once

#include <memory>

#include "engines/engine.hpp"

namespace lapwing {

const Engine& host_engine();

// `messages` and `progress_thread` must outlive the result; `progress_thread` may be null.
std::unique_ptr<GroupEngine> open_host_group(Link& messages, ProgressThread* progress_thread = nullptr);

}  // namespace lapwing
