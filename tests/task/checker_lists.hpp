// Lists written by hand that are right, for the tests of the checker.
#pragma once

#include "task/text.hpp"

namespace lapwing::hand_written {

// Recursive doubling (Graham et al. 2010, Table II).
inline constexpr const char* barrier_of_4 = R"(
problem barrier ranks 4
list 0 in 0 out 0 scratch 0
  recv 1
  recv 2
  send 1
  wait 1 1
  send 2
  wait 2 1
end
list 1 in 0 out 0 scratch 0
  recv 0
  recv 3
  send 0
  wait 0 1
  send 3
  wait 3 1
end
list 2 in 0 out 0 scratch 0
  recv 3
  recv 0
  send 3
  wait 3 1
  send 0
  wait 0 1
end
list 3 in 0 out 0 scratch 0
  recv 2
  recv 1
  send 2
  wait 2 1
  send 1
  wait 1 1
end
)";

inline constexpr const char* barrier_of_2 = R"(
problem barrier ranks 2
list 0 in 0 out 0 scratch 0
  recv 1
  send 1
  wait 1 1
end
list 1 in 0 out 0 scratch 0
  recv 0
  send 0
  wait 0 1
end
)";

// Scatter from root 1, then an exchange of halves: three sends of rank 1 and one pair that swaps.
inline constexpr const char* broadcast_of_3 = R"(
problem broadcast ranks 3 root 1 bytes 8
list 0 in 0 out 8 scratch 0
  recv 1 out[0+4]
  recv 2 out[4+4]
  wait 1 1
  send 2 out[0+4]
  wait 2 1
end
list 1 in 8 out 0 scratch 0
  send 0 in[0+4]
  send 2 in[4+4]
end
list 2 in 0 out 8 scratch 0
  recv 1 out[4+4]
  recv 0 out[0+4]
  wait 1 1
  send 0 out[4+4]
  wait 0 1
end
)";

// Binary tree, where rank 2 passes on the block of rank 3 together with its own.
inline constexpr const char* gather_of_4 = R"(
problem gather ranks 4 root 0 bytes 4
list 0 in 4 out 16 scratch 0
  recv 1 out[4+4]
  recv 2 out[8+8]
  copy out[0+4] in[0+4]
  wait 1 1
  wait 2 1
end
list 1 in 4 out 0 scratch 0
  send 0 in[0+4]
end
list 2 in 4 out 0 scratch 8
  recv 3 scratch[4+4]
  copy scratch[0+4] in[0+4]
  wait 3 1
  send 0 scratch[0+8]
end
list 3 in 4 out 0 scratch 0
  send 2 in[0+4]
end
)";

inline constexpr const char* gather_in_place = R"(
problem gather ranks 3 root 1 bytes 4 in_place
list 0 in 4 out 0 scratch 0
  send 1 in[0+4]
end
list 1 in 0 out 12 scratch 0
  recv 0 out[0+4]
  recv 2 out[8+4]
  wait 0 1
  wait 2 1
end
list 2 in 4 out 0 scratch 0
  send 1 in[0+4]
end
)";

// Pairwise exchange.
inline constexpr const char* alltoall_of_3 = R"(
problem alltoall ranks 3 bytes 4
list 0 in 12 out 12 scratch 0
  recv 1 out[4+4]
  recv 2 out[8+4]
  send 1 in[4+4]
  copy out[0+4] in[0+4]
  send 2 in[8+4]
  wait 1 1
  wait 2 1
end
list 1 in 12 out 12 scratch 0
  recv 0 out[0+4]
  recv 2 out[8+4]
  send 2 in[8+4]
  copy out[4+4] in[4+4]
  send 0 in[0+4]
  wait 0 1
  wait 2 1
end
list 2 in 12 out 12 scratch 0
  recv 1 out[4+4]
  recv 0 out[0+4]
  send 0 in[0+4]
  copy out[8+4] in[8+4]
  send 1 in[4+4]
  wait 0 1
  wait 1 1
end
)";

// To rank 0 and back; rank 2 hands its contribution over in two halves.
inline constexpr const char* allreduce_of_3 = R"(
problem allreduce ranks 3 bytes 8 op sum type uint32
list 0 in 8 out 8 scratch 16
  recv 1 scratch[0+8]
  recv 2 scratch[8+4]
  recv 2 scratch[12+4]
  copy out[0+8] in[0+8]
  wait 1 1
  reduce sum uint32 out[0+8] scratch[0+8]
  wait 2 2
  reduce sum uint32 out[0+8] scratch[8+8]
  send 1 out[0+8]
  send 2 out[0+8]
end
list 1 in 8 out 8 scratch 0
  recv 0 out[0+8]
  send 0 in[0+8]
  wait 0 1
end
list 2 in 8 out 8 scratch 0
  recv 0 out[0+8]
  send 0 in[0+4]
  send 0 in[4+4]
  wait 0 1
end
)";

// Recursive doubling; each rank sends from a copy, and reduces into another.
inline constexpr const char* allreduce_of_2 = R"(
problem allreduce ranks 2 bytes 4 op sum type uint32
list 0 in 4 out 4 scratch 8
  copy scratch[0+4] in[0+4]
  send 1 scratch[0+4]
  copy out[0+4] in[0+4]
  recv 1 scratch[4+4]
  wait 1 1
  reduce sum uint32 out[0+4] scratch[4+4]
end
list 1 in 4 out 4 scratch 8
  copy scratch[0+4] in[0+4]
  recv 0 scratch[4+4]
  send 0 scratch[0+4]
  copy out[0+4] in[0+4]
  wait 0 1
  reduce sum uint32 out[0+4] scratch[4+4]
end
)";

// The same in place: what is sent is a copy, since out is reduced into.
inline constexpr const char* allreduce_in_place = R"(
problem allreduce ranks 2 bytes 4 in_place op sum type uint32
list 0 in 0 out 4 scratch 8
  recv 1 scratch[4+4]
  copy scratch[0+4] out[0+4]
  send 1 scratch[0+4]
  wait 1 1
  reduce sum uint32 out[0+4] scratch[4+4]
end
list 1 in 0 out 4 scratch 8
  recv 0 scratch[4+4]
  copy scratch[0+4] out[0+4]
  send 0 scratch[0+4]
  wait 0 1
  reduce sum uint32 out[0+4] scratch[4+4]
end
)";

// By the caller's own function, from the last rank to the first.
inline constexpr const char* reduce_in_order = R"(
problem reduce ranks 3 root 0 bytes 8 op user type opaque:8 ordered
list 0 in 8 out 8 scratch 0
  recv 1 out[0+8]
  wait 1 1
  reduce user opaque out[0+8] in[0+8]
end
list 1 in 8 out 0 scratch 8
  recv 2 scratch[0+8]
  wait 2 1
  reduce user opaque scratch[0+8] in[0+8]
  send 0 scratch[0+8]
end
list 2 in 8 out 0 scratch 0
  send 1 in[0+8]
end
)";

// From the first rank to the last; what comes from below stands on the left.
inline constexpr const char* scan_of_3 = R"(
problem scan ranks 3 bytes 8 op user type opaque:8 ordered
list 0 in 8 out 8 scratch 0
  send 1 in[0+8]
  copy out[0+8] in[0+8]
end
list 1 in 8 out 8 scratch 8
  recv 0 scratch[0+8]
  copy out[0+8] in[0+8]
  wait 0 1
  reduce user opaque out[0+8] scratch[0+8]
  send 2 out[0+8]
end
list 2 in 8 out 8 scratch 8
  recv 1 scratch[0+8]
  copy out[0+8] in[0+8]
  wait 1 1
  reduce user opaque out[0+8] scratch[0+8]
end
)";

inline constexpr const char* exscan_in_place = R"(
problem exscan ranks 3 bytes 4 in_place op sum type uint32
list 0 in 0 out 4 scratch 0
  send 1 out[0+4]
end
list 1 in 0 out 4 scratch 8
  recv 0 scratch[0+4]
  copy scratch[4+4] out[0+4]
  wait 0 1
  reduce sum uint32 scratch[4+4] scratch[0+4]
  send 2 scratch[4+4]
  copy out[0+4] scratch[0+4]
end
list 2 in 0 out 4 scratch 4
  recv 1 scratch[0+4]
  wait 1 1
  copy out[0+4] scratch[0+4]
end
)";

// Blocks of 4, 0 and 8 bytes.
inline constexpr const char* reduce_scatter_of_3 = R"(
problem reduce_scatter ranks 3 bytes 4 op sum type uint32
parts 0 sends 0:0+4 1:4+0 2:4+8 receives 0:0+4
parts 1 sends 0:0+4 1:4+0 2:4+8 receives 1:0+0
parts 2 sends 0:0+4 1:4+0 2:4+8 receives 2:0+8
list 0 in 12 out 4 scratch 8
  recv 1 scratch[0+4]
  recv 2 scratch[4+4]
  copy out[0+4] in[0+4]
  send 2 in[4+8]
  wait 1 1
  reduce sum uint32 out[0+4] scratch[0+4]
  wait 2 1
  reduce sum uint32 out[0+4] scratch[4+4]
end
list 1 in 12 out 0 scratch 0
  send 2 in[4+8]
  send 0 in[0+4]
end
list 2 in 12 out 8 scratch 16
  recv 0 scratch[0+8]
  recv 1 scratch[8+8]
  send 0 in[0+4]
  copy out[0+8] in[4+8]
  wait 0 1
  reduce sum uint32 out[0+8] scratch[0+8]
  wait 1 1
  reduce sum uint32 out[0+8] scratch[8+8]
end
)";

inline constexpr const char* reduce_scatter_block_in_place = R"(
problem reduce_scatter_block ranks 2 bytes 4 in_place op sum type uint32
list 0 in 0 out 8 scratch 4
  recv 1 scratch[0+4]
  send 1 out[4+4]
  wait 1 1
  reduce sum uint32 out[0+4] scratch[0+4]
end
list 1 in 0 out 8 scratch 8
  recv 0 scratch[0+4]
  copy scratch[4+4] out[0+4]
  send 0 scratch[4+4]
  copy out[0+4] out[4+4]
  wait 0 1
  reduce sum uint32 out[0+4] scratch[0+4]
end
)";

// In memories with gaps, and blocks that are not in the order of ranks.
inline constexpr const char* alltoallv_of_2 = R"(
problem alltoallv ranks 2
parts 0 sends 0:8+4 1:0+6 receives 0:2+4 1:10+2
parts 1 sends 0:1+2 1:4+0 receives 0:1+6 1:0+0
list 0 in 12 out 12 scratch 0
  recv 1 out[10+2]
  send 1 in[0+6]
  copy out[2+4] in[8+4]
  wait 1 1
end
list 1 in 3 out 7 scratch 0
  recv 0 out[1+6]
  send 0 in[1+2]
  wait 0 1
end
)";

inline constexpr const char* gatherv_in_place = R"(
problem gatherv ranks 3 root 2 in_place
parts 0 sends 2:0+3
parts 1 sends 2:0+0
parts 2 receives 0:4+3 1:0+0 2:0+4
list 0 in 3 out 0 scratch 0
  send 2 in[0+3]
end
list 1 in 0 out 0 scratch 0
end
list 2 in 0 out 7 scratch 0
  recv 0 out[4+3]
  wait 0 1
end
)";

inline constexpr const char* scatterv_in_place = R"(
problem scatterv ranks 3 root 0 in_place
parts 0 sends 0:0+2 1:2+4 2:6+1
parts 1 receives 0:0+4
parts 2 receives 0:0+1
list 0 in 7 out 0 scratch 0
  send 2 in[6+1]
  send 1 in[2+4]
end
list 1 in 0 out 4 scratch 0
  recv 0 out[0+4]
  wait 0 1
end
list 2 in 0 out 1 scratch 0
  recv 0 out[0+1]
  wait 0 1
end
)";

// A line whose ends meet, of two ranks: each is the other's neighbour twice.
inline constexpr const char* neighbors_of_2 = R"(
problem neighbor_alltoall ranks 2
parts 0 sends 1:0+4 1:4+4 receives 1:0+4 1:4+4
parts 1 sends 0:0+4 0:4+4 receives 0:0+4 0:4+4
list 0 in 8 out 8 scratch 0
  recv 1 out[0+4]
  recv 1 out[4+4]
  send 1 in[0+4]
  send 1 in[4+4]
  wait 1 2
end
list 1 in 8 out 8 scratch 0
  recv 0 out[0+4]
  recv 0 out[4+4]
  send 0 in[0+4]
  send 0 in[4+4]
  wait 0 2
end
)";

// Rank 0 is its own neighbour.
inline constexpr const char* neighbor_allgather_of_2 = R"(
problem neighbor_allgather ranks 2
parts 0 sends 1:0+4 0:0+4 receives 0:4+4
parts 1 receives 0:0+4
list 0 in 4 out 8 scratch 0
  send 1 in[0+4]
  copy out[4+4] in[0+4]
end
list 1 in 0 out 4 scratch 0
  recv 0 out[0+4]
  wait 0 1
end
)";

// Not among `all`. Rank 1 is the leader of ranks 0 and 2, its intra-node peers; rank 3 is on another host.
inline constexpr const char* barrier_by_leader = R"(
problem barrier ranks 4
list 0 in 0 out 0 scratch 0
  recv 1
  send 1
  wait 1 1
end
list 1 in 0 out 0 scratch 0
  recv 0
  recv 2
  recv 3
  wait 0 1
  wait 2 1
  send 3
  wait 3 1
  send 0
  send 2
end
list 2 in 0 out 0 scratch 0
  recv 1
  send 1
  wait 1 1
end
list 3 in 0 out 0 scratch 0
  recv 1
  send 1
  wait 1 1
end
)";

inline constexpr const char* all[] = {barrier_of_2,
                                      barrier_of_4,
                                      broadcast_of_3,
                                      gather_of_4,
                                      gather_in_place,
                                      alltoall_of_3,
                                      allreduce_of_3,
                                      allreduce_of_2,
                                      allreduce_in_place,
                                      reduce_in_order,
                                      scan_of_3,
                                      exscan_in_place,
                                      reduce_scatter_of_3,
                                      reduce_scatter_block_in_place,
                                      alltoallv_of_2,
                                      gatherv_in_place,
                                      scatterv_in_place,
                                      neighbors_of_2,
                                      neighbor_allgather_of_2};

}  // namespace lapwing::hand_written
