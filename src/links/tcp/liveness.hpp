// Distinguishes a network that is cut off from a peer that is busy.
//
// The kernel retransmits unacknowledged bytes for a quarter of an hour. TCP_USER_TIMEOUT shortens that, but
// also ends connections of healthy peers that do not read for a while: a rank that is late, a program that is
// stopped. Therefore the connections are checked from time to time, and only one that does not answer any
// more gets that limit.
#pragma once

#include <netinet/tcp.h>

#include <chrono>

#include "links/tcp/connection_table.hpp"

namespace lapwing::tcp {

// Whether the last retransmission, or the last probe of a closed window, is unanswered.
bool unanswered(const tcp_info& info);

// The time between two calls of check_liveness().
std::chrono::milliseconds liveness_interval(std::chrono::seconds patience);

// Checks all connections of a group. Ends a connection that was unanswered for most of the patience: its
// descriptor reports ETIMEDOUT, or is shut down if the kernel's own timer is late.
void check_liveness(ConnectionTable& table);

// Whether a connection to `peer` was ended in this way.
bool silent(ConnectionTable& table, int peer);

}  // namespace lapwing::tcp
