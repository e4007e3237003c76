// A rank's part in a random program. Its functions are in the folder's files: messages.cpp, completion.cpp,
// and beside_messages.cpp; point_to_point.cpp has the course of a round.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "point_to_point/plan.hpp"
#include "random_collective.hpp"

namespace point_to_point {

// A request of this rank, with its buffer.
struct Operation {
    enum class Kind { send, receive, without_peer, collective, partitioned };
    Kind kind = Kind::send;
    MPI_Request request = MPI_REQUEST_NULL;
    bool persistent = false;
    bool may_stay = false;  // until a later round
    bool needs_status = false;
    Buffer buffer;
    Element element;
    int elements = 0;  // that a partitioned receive expects
    const Communicator* communicator = nullptr;
    int of_class = -1;
    int message = -1;  // of the plan; of a receive: for which it was posted
    // Of a receive whose message is known before.
    const Message* expected = nullptr;
    std::uint64_t id = 0;  // of the data
    MPI_Status status{};
    bool has_status = false;
    std::optional<RandomCollective> collective;
};
using Operations = std::vector<std::unique_ptr<Operation>>;

class Program {
  public:
    Program(std::uint64_t seed, int thread, bool threads, Communicators& communicators);

    int rounds() { return 6 + plan_.below(8); }
    void run(int number);
    void end();

  private:
    using Kind = Operation::Kind;

    // Ends the job.
    [[noreturn]] void wrong(const std::string& what) const;
    void check(bool right, const std::string& what) const {
        if (!right) wrong(what);
    }
    const Element& element_of(const Message& message) const { return round_->class_of(message).element; }
    std::uint64_t id_of(const Message& message) const {
        return as_size((number_ * 8 + iteration_) * 256 + message.index + 1);
    }
    int peer(int rank) const { return round_->communicator->rank_of(rank); }
    MPI_Comm handle() const { return round_->communicator->handle; }
    // Half of the times up to 3 ms without any call.
    void compute();

    // Messages of the plan: messages.cpp
    void attach(const Round& round);
    void detach();
    Operation& add(Kind kind);
    // The sends, or the receives, of a class in the order in which they start.
    std::vector<int> in_order(const Class& its, bool sends) const;
    // The message that a receive of a class with one source gets: the first receive gets the first message.
    const Message* expected_for(const Message& posted) const;
    void prepare_receive(Operation& operation, const Message& message) const;
    int source_of(const Message& message) const;
    int tag_of(const Message& message) const;
    Operation& add_persistent(Kind kind, const Message& message);
    void make_persistent();
    // MPI_Startall starts in any order, which messages of one class must not.
    void start_if_of_class(Operations& made, int of_class);
    void start(Operations& made);
    std::unique_ptr<Operation> take_persistent(Kind kind, const Message& message);
    void receive_early();
    void irecv(const Message& message);
    void send_early();
    void walk();
    void send(const Message& message);
    void receive_late(const Message& message);
    void free_persistent();

    // What a program does beside them: beside_messages.cpp
    // All ranks send to the next one.
    void shift();
    void post_without_message();
    void cancel();
    void without_peer();
    void check_without_peer(const MPI_Status& status) const;
    void start_collective();
    void blocking_collective(int which);
    void start_partitioned();

    // Completion: completion.cpp
    void check_receive(const Operation& operation, const Message& message, std::uint64_t id) const;
    // The request of active_[index] is complete. `status`: null if it was ignored.
    void completed(std::size_t index, const MPI_Status* status);
    // The receives from any source, all complete: the messages of each source came in their order.
    void check_classes();
    // Some calls that complete nothing that they should not.
    void poll();
    // `all`: else some remain for later rounds.
    void complete(bool all);
    void complete_some();

    std::uint64_t seed_;
    Random plan_;
    Random own_;
    bool threads_;
    Communicators& communicators_;
    std::deque<Round> rounds_;  // requests stay beyond their round
    const Round* round_ = nullptr;
    int number_ = 0;
    int iteration_ = 0;
    Operations active_;
    Operations persistent_;
    Operations unknown_;
    Operations without_message_;
    Operations kept_;  // freed requests
    std::vector<unsigned char> attached_;
};

}  // namespace point_to_point
