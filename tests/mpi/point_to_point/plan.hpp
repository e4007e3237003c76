// The plan of a random program of messages, which all ranks derive from the seed: which messages a round has,
// how each is sent and received, and of which type.
//
// A round cannot deadlock. Every rank, in this order: posts the early receives; starts the nonblocking sends;
// walks through the messages in the order of the plan, with the blocking sends and the late receives; and
// completes its requests. Messages that a receive cannot tell apart form a class: then either all are sent by
// nonblocking calls, or all are received by early receives.
#pragma once

#include <mpi.h>

#include <deque>
#include <vector>

#include "point_to_point/data.hpp"

namespace point_to_point {

inline int world_rank = 0;
inline int world_ranks = 0;

constexpr int tags_per_round = 16;  // the tags of round r begin at r * tags_per_round

// Ranks of MPI_COMM_WORLD name the members.
struct Communicator {
    MPI_Comm handle = MPI_COMM_NULL;
    bool inter = false;
    // Each is a communicator of its own, or one of the two groups of the intercommunicator.
    std::vector<std::vector<int>> groups;

    int group_of(int rank) const;
    int rank_of(int rank) const;
    const std::vector<int>& peers_of(int rank) const;
};

std::vector<int> ranks_from(int first, int end);

struct Communicators {
    MPI_Comm all = MPI_COMM_NULL;
    MPI_Comm ring = MPI_COMM_NULL;
    std::deque<Communicator> of_messages;

    // Collective.
    explicit Communicators(Random& random);
    void free();

  private:
    Communicator& add(bool inter, std::vector<std::vector<int>> groups);
};

enum class Send {
    // Nonblocking: i, synchronous, buffered, freed at once, persistent
    isend,
    issend,
    ibsend,
    isend_freed,
    send_init,
    ssend_init,
    bsend_init,
    // These need a receive that is known to be posted.
    irsend,
    rsend_init,
    // Blocking, in the order of the plan.
    send,
    ssend,
    bsend,
    rsend,
};
enum class Receive {
    // Early.
    irecv,
    recv_init,
    // Late, in the order of the plan.
    late_irecv,
    recv,
    probe,
    iprobe,
    mprobe,
    improbe,
    mprobe_imrecv,
    improbe_imrecv,
};

inline bool is_early(Send send) {
    return send < Send::send;
}
bool is_persistent(Send send);
bool is_buffered(Send send);
inline bool is_early(Receive receive) {
    return receive < Receive::late_irecv;
}

struct Message {
    int index = 0;  // in the round
    int from = 0;   // ranks of MPI_COMM_WORLD
    int to = 0;
    int tag = 0;
    int elements = 0;
    Send send = Send::isend;
    Receive receive = Receive::irecv;
    Shape sent;
    Shape received;
    int of_class = 0;
};

// Receives of one rank with equal arguments, and the messages that match them.
struct Class {
    bool any_source = false;
    bool any_tag = false;
    Element element;
    int capacity = 0;  // elements of the longest message
    std::vector<int> messages;
};

struct Round {
    const Communicator* communicator = nullptr;
    std::vector<Message> messages;
    std::vector<Class> classes;
    int iterations = 1;
    bool ready_barrier = false;  // after the early receives
    bool last_barrier = false;  // no rank goes on while another may have a wildcard receive without a message
    int ring_at = -1;           // a shift by MPI_Sendrecv, before this message
    bool collective = false;
    int blocking_collective = -1;
    int partitions = 0;

    const Class& class_of(const Message& message) const { return classes[as_size(message.of_class)]; }
};

Round random_round(Random& random, const Communicators& communicators, int number);

}  // namespace point_to_point
