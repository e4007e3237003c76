// Tells a network that is gone from a peer that is busy.
//
// While bytes are on their way, the kernel repeats them and, left alone, gives up after a quarter of an hour.
// TCP_USER_TIMEOUT shortens that, but also ends connections whose peer is well and only does not read for a
// while: a rank that comes late, a program that is stopped. So the connections are looked at from time to
// time, and only one that has stopped to answer is given that limit.
#pragma once

#include <netinet/tcp.h>

#include <chrono>

#include "links/tcp/connection_table.hpp"

namespace lapwing::tcp {

// Whether something has been repeated, or a closed window asked about, and the other side has not answered
// the last time.
bool unanswered(const tcp_info& info);

// How often to feel(), so that its looks make up the patience.
std::chrono::milliseconds liveness_interval(std::chrono::seconds patience);

// Looks at all connections of a group. One that was unanswered on all occasions for most of the patience gets
// to its end, which its descriptor shows as ETIMEDOUT; or as closed, where the kernel's own timer is late.
void check_liveness(ConnectionTable& table);

// Whether a connection to `peer` has come to its end in this way.
bool silent(ConnectionTable& table, int peer);

}  // namespace lapwing::tcp
