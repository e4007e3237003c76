// Advances the runs of a lane: connects, posts requests, reads completions, and does the processor's tasks.
#pragma once

namespace lapwing::mlx5 {

class Group;
class Lane;

// Advances the run that has the lane, and the next runs when it completes, as far as possible. If one fails,
// all runs of the group fail.
void advance_runs(Group& group, Lane& lane);

}  // namespace lapwing::mlx5
