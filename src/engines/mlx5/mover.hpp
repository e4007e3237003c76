// Moves the runs of a lane: connects, posts, waits for the card, and does what the processor must.
#pragma once

namespace lapwing::mlx5 {

class Group;
class Lane;

// The run that has the lane, and those that get it then, as far as they go. Where one fails, all of the group
// do.
void move_runs(Group& group, Lane& lane);

}  // namespace lapwing::mlx5
