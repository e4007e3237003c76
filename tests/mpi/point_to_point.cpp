// A random, correct program of point-to-point messages, by a plan that all ranks derive from the seed
// (point_to_point/plan.hpp). How a rank completes its requests, and how long it computes in between, is its
// own choice. Every byte of each receive buffer, holes included, and every status are compared with the plan.
//   point_to_point-<mpi> SEED THREADS [turns]
// THREADS 0: one thread, of the thread level that the seed chooses. Otherwise this number of threads run such
// a program at once, by MPI_THREAD_MULTIPLE, each on communicators of its own.
//   turns     MPI_THREAD_SERIALIZED: each round of the program is run by another thread
// Rank 0 prints "ok" at the end. At the first difference a rank prints its rank, the seed and the round, and
// aborts.
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "point_to_point/plan.hpp"
#include "random_collective.hpp"

namespace {

using namespace point_to_point;

constexpr int tag_without_message = 32'000;  // of receives that match no message

// Half of the times up to 3 ms without any call.
void compute(Random& random) {
    if (random.one_in(2)) return;
    const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(random.below(3'000));
    while (std::chrono::steady_clock::now() < end) {
    }
}

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

class Program {
  public:
    Program(std::uint64_t seed, int thread, bool threads, Communicators& communicators)
        : seed_(seed),
          plan_(seed * 100 + static_cast<std::uint64_t>(thread)),
          own_(seed * 10'000 + static_cast<std::uint64_t>(thread * 100 + world_rank)),
          threads_(threads),
          communicators_(communicators) {}

    int rounds() { return 6 + plan_.below(8); }
    void run(int number) {
        number_ = number;
        const Round& round = rounds_.emplace_back(random_round(plan_, communicators_, number));
        round_ = &round;
        if (!threads_) attach(round);
        if (own_.one_in(4)) post_without_message();
        if (own_.one_in(4)) without_peer();
        make_persistent();
        for (iteration_ = 0; iteration_ < round.iterations; ++iteration_) {
            receive_early();
            if (round.ready_barrier) MPI_Barrier(communicators_.all);
            send_early();
            if (round.collective) start_collective();
            if (round.partitions > 0) start_partitioned();
            compute(own_);
            walk();
            compute(own_);
            complete(round.last_barrier || round.iterations > 1 || own_.one_in(2));
            check_classes();
            if (round.last_barrier) MPI_Barrier(communicators_.all);
        }
        if (round.blocking_collective >= 0) blocking_collective(round.blocking_collective);
        free_persistent();
        if (own_.one_in(2)) cancel();
        if (!threads_ && !attached_.empty()) detach();
    }
    void end() {
        complete(true);
        cancel();
        // What was freed in flight is received now.
        MPI_Barrier(communicators_.all);
        kept_.clear();
    }

  private:
    using Kind = Operation::Kind;

    [[noreturn]] void wrong(const std::string& what) const {
        std::printf("rank %d, seed %llu, round %d, iteration %d: %s\n", world_rank,
                    static_cast<unsigned long long>(seed_), number_, iteration_, what.c_str());
        std::fflush(stdout);
        MPI_Abort(MPI_COMM_WORLD, 1);
        std::abort();
    }
    void check(bool right, const std::string& what) const {
        if (!right) wrong(what);
    }

    const Element& element_of(const Message& message) const { return round_->class_of(message).element; }
    std::uint64_t id_of(const Message& message) const {
        return as_size((number_ * 8 + iteration_) * 256 + message.index + 1);
    }
    int peer(int rank) const { return round_->communicator->rank_of(rank); }
    MPI_Comm handle() const { return round_->communicator->handle; }

    // -- Buffered sends --
    void attach(const Round& round) {
        std::size_t bytes = 0;
        for (const Message& message : round.messages) {
            if (message.from != world_rank || !is_buffered(message.send)) continue;
            // MPICH reserves more than the standard's overhead if the type is not contiguous.
            bytes += 2 * as_size(message.elements * element_of(message).size + MPI_BSEND_OVERHEAD) + 1'024;
        }
        if (bytes == 0) return;
        attached_.resize(bytes * as_size(round.iterations));
        MPI_Buffer_attach(attached_.data(), static_cast<int>(attached_.size()));
    }
    void detach() {
        void* address = nullptr;
        int size = 0;
        MPI_Buffer_detach(&address, &size);
        check(address == attached_.data() && as_size(size) == attached_.size(),
              "MPI_Buffer_detach returned another buffer");
        attached_.clear();
    }

    // -- Messages --
    Operation& add(Kind kind) {
        Operation& made = *active_.emplace_back(std::make_unique<Operation>());
        made.kind = kind;
        return made;
    }
    // The message that a receive of a class with one source gets: the first receive gets the first message.
    const Message* expected_for(const Message& posted) const {
        const Class& its = round_->class_of(posted);
        if (its.any_source) return nullptr;
        const std::vector<int> receives =
            in_order(its, [](const Message& message) { return is_early(message.receive); });
        const std::vector<int> sends =
            in_order(its, [](const Message& message) { return is_early(message.send); });
        const auto position = std::find(receives.begin(), receives.end(), posted.index) - receives.begin();
        return &round_->messages[as_size(sends[static_cast<std::size_t>(position)])];
    }
    template <typename IsEarly>
    std::vector<int> in_order(const Class& its, IsEarly early) const {
        std::vector<int> order = its.messages;
        std::stable_partition(order.begin(), order.end(),
                              [&](int i) { return early(round_->messages[as_size(i)]); });
        return order;
    }
    void prepare_receive(Operation& operation, const Message& message) const {
        operation.element = element_of(message);
        if (operation.buffer.type() == MPI_DATATYPE_NULL) {
            operation.buffer = Buffer(message.received, operation.element,
                                      message.received.rounded(round_->class_of(message).capacity));
        } else {
            operation.buffer.clear();
        }
        operation.communicator = round_->communicator;
        operation.message = message.index;
        operation.of_class = message.of_class;
        operation.expected = expected_for(message);
        operation.id = operation.expected == nullptr ? 0 : id_of(*operation.expected);
        operation.needs_status = operation.expected == nullptr;
        operation.may_stay = operation.expected != nullptr;
        operation.has_status = false;
    }
    int source_of(const Message& message) const {
        return round_->class_of(message).any_source ? MPI_ANY_SOURCE : peer(message.from);
    }
    int tag_of(const Message& message) const {
        return round_->class_of(message).any_tag ? MPI_ANY_TAG : message.tag;
    }

    Operation& add_persistent(Kind kind, const Message& message) {
        Operation& made = *persistent_.emplace_back(std::make_unique<Operation>());
        made.kind = kind;
        made.message = message.index;
        made.persistent = true;
        return made;
    }
    void make_persistent() {
        for (const Message& message : round_->messages) {
            if (message.from == world_rank && is_persistent(message.send)) {
                Operation& made = add_persistent(Kind::send, message);
                made.buffer = Buffer(message.sent, element_of(message), message.elements);
                const auto init = message.send == Send::send_init    ? MPI_Send_init
                                  : message.send == Send::ssend_init ? MPI_Ssend_init
                                  : message.send == Send::bsend_init ? MPI_Bsend_init
                                                                     : MPI_Rsend_init;
                init(made.buffer.address(), made.buffer.count(), made.buffer.type(), peer(message.to),
                     message.tag, handle(), &made.request);
                // The type remains in the request.
                if (own_.one_in(3)) made.buffer.free_type();
            }
            if (message.to == world_rank && message.receive == Receive::recv_init) {
                Operation& made = add_persistent(Kind::receive, message);
                prepare_receive(made, message);
                MPI_Recv_init(made.buffer.address(), made.buffer.count(), made.buffer.type(),
                              source_of(message), tag_of(message), handle(), &made.request);
            }
        }
    }
    // MPI_Startall starts in any order, which messages of one class must not.
    void start_if_of_class(std::vector<std::unique_ptr<Operation>>& made, int of_class) {
        const bool found =
            std::any_of(made.begin(), made.end(), [&](const auto& one) { return one->of_class == of_class; });
        if (found || own_.one_in(2)) start(made);
    }
    void start(std::vector<std::unique_ptr<Operation>>& made) {
        std::vector<MPI_Request> requests;
        for (auto& one : made) requests.push_back(one->request);
        if (requests.size() == 1 && own_.one_in(2))
            MPI_Start(requests.data());
        else if (!requests.empty())
            MPI_Startall(static_cast<int>(requests.size()), requests.data());
        for (std::size_t i = 0; i < made.size(); ++i) {
            check(made[i]->request == requests[i], "a start changed the request");
            active_.push_back(std::move(made[i]));
        }
        made.clear();
    }
    std::unique_ptr<Operation> take_persistent(Kind kind, const Message& message) {
        for (auto one = persistent_.begin(); one != persistent_.end(); ++one) {
            if ((*one)->kind != kind || (*one)->message != message.index) continue;
            std::unique_ptr<Operation> taken = std::move(*one);
            persistent_.erase(one);
            return taken;
        }
        wrong("a persistent request is missing");
    }

    void receive_early() {
        std::vector<std::unique_ptr<Operation>> started;
        for (const Message& message : round_->messages) {
            if (message.to != world_rank || !is_early(message.receive)) continue;
            if (message.receive == Receive::recv_init) {
                start_if_of_class(started, message.of_class);
                started.push_back(take_persistent(Kind::receive, message));
                prepare_receive(*started.back(), message);
                continue;
            }
            start(started);
            irecv(message);
        }
        start(started);
    }
    void irecv(const Message& message) {
        Operation& made = add(Kind::receive);
        prepare_receive(made, message);
        MPI_Irecv(made.buffer.address(), made.buffer.count(), made.buffer.type(), source_of(message),
                  tag_of(message), handle(), &made.request);
        if (own_.one_in(2)) made.buffer.free_type();
    }

    void send_early() {
        std::vector<std::unique_ptr<Operation>> started;
        for (const Message& message : round_->messages) {
            if (message.from != world_rank || !is_early(message.send)) continue;
            if (is_persistent(message.send)) {
                start_if_of_class(started, message.of_class);
                started.push_back(take_persistent(Kind::send, message));
                started.back()->of_class = message.of_class;
                started.back()->buffer.fill(id_of(message), message.elements);
                continue;
            }
            start(started);
            Operation& made = add(Kind::send);
            made.may_stay = true;
            made.buffer = Buffer(message.sent, element_of(message), message.elements);
            made.buffer.fill(id_of(message), message.elements);
            const auto isend = message.send == Send::issend   ? MPI_Issend
                               : message.send == Send::ibsend ? MPI_Ibsend
                               : message.send == Send::irsend ? MPI_Irsend
                                                              : MPI_Isend;
            isend(made.buffer.address(), made.buffer.count(), made.buffer.type(), peer(message.to),
                  message.tag, handle(), &made.request);
            if (own_.one_in(2)) made.buffer.free_type();
            if (message.send == Send::isend_freed) {
                MPI_Request_free(&made.request);
                kept_.push_back(std::move(active_.back()));
                active_.pop_back();
                kept_.back()->buffer.free_type();
            }
        }
        start(started);
    }

    void walk() {
        for (const Message& message : round_->messages) {
            if (round_->ring_at == message.index) shift();
            if (message.from == world_rank && !is_early(message.send)) send(message);
            if (message.to == world_rank && !is_early(message.receive)) receive_late(message);
            if (own_.one_in(8)) poll();
        }
    }
    void send(const Message& message) {
        Buffer buffer(message.sent, element_of(message), message.elements);
        buffer.fill(id_of(message), message.elements);
        const auto call = message.send == Send::ssend   ? MPI_Ssend
                          : message.send == Send::bsend ? MPI_Bsend
                          : message.send == Send::rsend ? MPI_Rsend
                                                        : MPI_Send;
        call(buffer.address(), buffer.count(), buffer.type(), peer(message.to), message.tag, handle());
        buffer.free_type();
    }
    void receive_late(const Message& message) {
        if (message.receive == Receive::late_irecv) return irecv(message);
        Operation& made = add(Kind::receive);
        prepare_receive(made, message);
        const int source = source_of(message);
        const int tag = tag_of(message);
        MPI_Status probed;
        MPI_Message matched = MPI_MESSAGE_NULL;
        int found = 0;
        switch (message.receive) {
            case Receive::recv:
                MPI_Recv(made.buffer.address(), made.buffer.count(), made.buffer.type(), source, tag,
                         handle(), &made.status);
                break;
            case Receive::probe:
            case Receive::iprobe:
                if (message.receive == Receive::probe) MPI_Probe(source, tag, handle(), &probed);
                while (message.receive == Receive::iprobe && found == 0) {
                    MPI_Iprobe(source, tag, handle(), &found, &probed);
                    if (found == 0) compute(own_);
                }
                MPI_Recv(made.buffer.address(), made.buffer.count(), made.buffer.type(), probed.MPI_SOURCE,
                         probed.MPI_TAG, handle(), &made.status);
                check(probed.MPI_SOURCE == made.status.MPI_SOURCE && probed.MPI_TAG == made.status.MPI_TAG &&
                          count_in(probed, made.element) == count_in(made.status, made.element),
                      "a probe and its receive differ");
                break;
            default:
                if (message.receive == Receive::mprobe || message.receive == Receive::mprobe_imrecv)
                    MPI_Mprobe(source, tag, handle(), &matched, &probed);
                while (matched == MPI_MESSAGE_NULL) {
                    MPI_Improbe(source, tag, handle(), &found, &matched, &probed);
                    if (found == 0) compute(own_);
                }
                if (message.receive == Receive::mprobe_imrecv || message.receive == Receive::improbe_imrecv) {
                    MPI_Imrecv(made.buffer.address(), made.buffer.count(), made.buffer.type(), &matched,
                               &made.request);
                    check(matched == MPI_MESSAGE_NULL, "MPI_Imrecv left the message");
                    return;
                }
                MPI_Mrecv(made.buffer.address(), made.buffer.count(), made.buffer.type(), &matched,
                          &made.status);
                check(matched == MPI_MESSAGE_NULL, "MPI_Mrecv left the message");
        }
        completed(active_.size() - 1, &made.status);
    }
    // All ranks send to the next one.
    void shift() {
        const int to = (world_rank + 1) % world_ranks;
        const int from = (world_rank + world_ranks - 1) % world_ranks;
        const int elements = 20'000 + 100 * (number_ % 7);
        const std::uint64_t id = as_size(number_ * 1'000 + iteration_ * 100);
        const Element element = {MPI_INT, 4};
        Buffer out({}, element, elements);
        Buffer in({}, element, elements);
        out.fill(id + as_size(world_rank), elements);
        MPI_Status status;
        const bool replaces = number_ % 2 == 0;
        if (replaces)
            MPI_Sendrecv_replace(out.address(), elements, MPI_INT, to, 5, from, 5, communicators_.ring,
                                 &status);
        else
            MPI_Sendrecv(out.address(), elements, MPI_INT, to, 5, in.address(), elements, MPI_INT, from, 5,
                         communicators_.ring, &status);
        check(status.MPI_SOURCE == from && status.MPI_TAG == 5 && count_in(status, element) == elements,
              "status of MPI_Sendrecv");
        check((replaces ? out : in).first_difference(id + as_size(from), elements) == -1,
              "data of MPI_Sendrecv");
    }

    // -- Requests without a message --
    void post_without_message() {
        const std::vector<int>& group = round_->communicator->groups.front();
        if (handle() == MPI_COMM_NULL || group.empty()) return;
        Operation& made = *without_message_.emplace_back(std::make_unique<Operation>());
        const int elements = own_.one_in(2) ? 100 : 100'000;
        made.buffer = Buffer({}, {MPI_BYTE, 1}, elements);
        MPI_Irecv(made.buffer.address(), elements, MPI_BYTE, own_.one_in(2) ? MPI_ANY_SOURCE : 0,
                  tag_without_message, handle(), &made.request);
    }
    void cancel() {
        for (auto& one : without_message_) {
            MPI_Status status;
            int flag = 0;
            if (own_.one_in(2)) {
                MPI_Test(&one->request, &flag, &status);
                check(flag == 0, "a receive without a message is complete");
                compute(own_);
            }
            MPI_Cancel(&one->request);
            if (own_.one_in(2)) {
                MPI_Wait(&one->request, &status);
            } else {
                while (flag == 0) MPI_Test(&one->request, &flag, &status);
            }
            MPI_Test_cancelled(&status, &flag);
            check(flag != 0, "a receive without a message is not cancelled");
            check(one->buffer.untouched(), "a cancelled receive has data");
        }
        without_message_.clear();
    }
    void without_peer() {
        if (handle() == MPI_COMM_NULL) return;
        const Element element{MPI_BYTE, 1};
        Buffer buffer({}, element, 100'000);
        MPI_Status status;
        switch (own_.below(5)) {
            case 0:
                MPI_Recv(buffer.address(), 100'000, MPI_BYTE, MPI_PROC_NULL, 3, handle(), &status);
                check_without_peer(status);
                break;
            case 1:
                MPI_Sendrecv(buffer.address(), 9, MPI_BYTE, MPI_PROC_NULL, 3, buffer.address(), 9, MPI_BYTE,
                             MPI_PROC_NULL, 3, handle(), &status);
                check_without_peer(status);
                break;
            case 2:
                MPI_Probe(MPI_PROC_NULL, 3, handle(), &status);
                check_without_peer(status);
                MPI_Send(buffer.address(), 100'000, MPI_BYTE, MPI_PROC_NULL, 3, handle());
                break;
            default: {
                Operation& made = add(Kind::without_peer);
                made.buffer = Buffer({}, element, 100'000);
                made.may_stay = true;
                if (own_.one_in(2)) {
                    made.needs_status = true;
                    MPI_Irecv(made.buffer.address(), 100'000, MPI_BYTE, MPI_PROC_NULL, 3, handle(),
                              &made.request);
                } else {
                    MPI_Isend(made.buffer.address(), 100'000, MPI_BYTE, MPI_PROC_NULL, 3, handle(),
                              &made.request);
                }
            }
        }
    }
    void check_without_peer(const MPI_Status& status) const {
        check(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG &&
                  count_in(status, {MPI_BYTE, 1}) == 0,
              "status of MPI_PROC_NULL");
    }

    // -- Collectives --
    void start_collective() {
        Operation& made = add(Kind::collective);
        made.may_stay = true;
        Random random(as_size(number_ * 10 + iteration_));
        made.collective.emplace(communicators_.all, random, number_ % 2 == 0 ? 3 : 10'000);
        made.request = made.collective->request;
    }
    void blocking_collective(int which) {
        int sum = 0;
        switch (which) {
            case 0:
                MPI_Barrier(communicators_.all);
                break;
            case 1:
                MPI_Allreduce(&world_rank, &sum, 1, MPI_INT, MPI_SUM, communicators_.all);
                check(sum == world_ranks * (world_ranks - 1) / 2, "MPI_Allreduce");
                break;
            default: {
                std::vector<int> data(20'000, world_rank == 0 ? number_ : -1);
                MPI_Bcast(data.data(), 20'000, MPI_INT, 0, communicators_.all);
                check(data == std::vector<int>(20'000, number_), "MPI_Bcast");
            }
        }
    }

    // -- Partitioned messages: to the next rank --
    void start_partitioned() {
#if MPI_VERSION >= 4
        if (iteration_ > 0) return;
        const int partitions = round_->partitions;
        const int each = number_ % 3 == 0 ? 10 : 20'000;
        const int elements = partitions * each;
        const Element element{MPI_INT, 4};
        Operation& receive = add(Kind::partitioned);
        receive.persistent = true;
        receive.buffer = Buffer({}, element, elements);
        receive.elements = elements;
        receive.id = as_size(number_ * 1'000 + (world_rank + world_ranks - 1) % world_ranks);
        MPI_Precv_init(receive.buffer.address(), partitions, each, MPI_INT,
                       (world_rank + world_ranks - 1) % world_ranks, number_, communicators_.ring,
                       MPI_INFO_NULL, &receive.request);
        Operation& send = add(Kind::partitioned);
        send.persistent = true;
        send.buffer = Buffer({}, element, elements);
        send.buffer.fill(as_size(number_ * 1'000 + world_rank), elements);
        MPI_Psend_init(send.buffer.address(), partitions, each, MPI_INT, (world_rank + 1) % world_ranks,
                       number_, communicators_.ring, MPI_INFO_NULL, &send.request);
        MPI_Start(&receive.request);
        MPI_Start(&send.request);
        std::vector<int> order = ranks_from(0, partitions);
        own_.shuffle(order);
        for (const int partition : order) {
            if (own_.one_in(4)) compute(own_);
            MPI_Pready(partition, send.request);
        }
        int arrived = 0;
        if (own_.one_in(2)) MPI_Parrived(receive.request, own_.below(partitions), &arrived);
#endif
    }

    // -- Completion --
    static int count_in(const MPI_Status& status, const Element& element) {
        int count = 0;
        MPI_Get_elements(&status, element.type, &count);
        return count;
    }

    void check_receive(const Operation& operation, const Message& message, std::uint64_t id) const {
        if (operation.has_status) {
            const MPI_Status& status = operation.status;
            const int source = operation.communicator->rank_of(message.from);
            const int count = count_in(status, operation.element);
            int cancelled = 0;
            MPI_Test_cancelled(&status, &cancelled);
            if (status.MPI_SOURCE != source || status.MPI_TAG != message.tag || count != message.elements ||
                cancelled != 0)
                wrong("status of message " + std::to_string(id) + ": source " +
                      std::to_string(status.MPI_SOURCE) + " instead of " + std::to_string(source) + ", tag " +
                      std::to_string(status.MPI_TAG) + " instead of " + std::to_string(message.tag) + ", " +
                      std::to_string(count) + " elements instead of " + std::to_string(message.elements));
        }
        const long byte = operation.buffer.first_difference(id, message.elements);
        if (byte >= 0)
            wrong("data of message " + std::to_string(id) + " from byte " + std::to_string(byte) +
                  " of the buffer");
    }

    // The request of active_[index] is complete. `status`: null if it was ignored.
    void completed(std::size_t index, const MPI_Status* status) {
        std::unique_ptr<Operation> operation = std::move(active_[index]);
        operation->has_status = status != nullptr;
        if (status != nullptr) operation->status = *status;
        check(operation->persistent || operation->request == MPI_REQUEST_NULL,
              "a complete request is not null");
        check(!operation->persistent || operation->request != MPI_REQUEST_NULL,
              "a persistent request is null");
        switch (operation->kind) {
            case Kind::receive:
                if (operation->expected != nullptr)
                    check_receive(*operation, *operation->expected, operation->id);
                break;
            case Kind::without_peer:
#if !defined(MPICH_NUMVERSION) || MPICH_NUMVERSION >= 50000000
                // MPICH 4.0 sets source and tag to 0.
                if (operation->needs_status) check_without_peer(operation->status);
#endif
                check(operation->buffer.untouched(), "data from MPI_PROC_NULL");
                break;
            case Kind::collective:
                check(operation->collective->right(), "a collective");
                break;
            case Kind::partitioned:
                if (operation->elements > 0)
                    check(operation->buffer.first_difference(operation->id, operation->elements) == -1,
                          "a partitioned receive");
                MPI_Request_free(&operation->request);
                break;
            default:
                break;
        }
        if (operation->kind == Kind::receive && operation->expected == nullptr) {
            unknown_.push_back(std::move(operation));
        } else if (operation->persistent && operation->kind != Kind::partitioned) {
            persistent_.push_back(std::move(operation));
        } else {
            operation->buffer.free_type();
        }
        active_.erase(active_.begin() + static_cast<std::ptrdiff_t>(index));
    }

    // The receives from any source, all complete: the messages of each source came in their order.
    void check_classes() {
        for (const Class& its : round_->classes) {
            if (!its.any_source || round_->messages[as_size(its.messages.front())].to != world_rank) continue;
            std::map<int, std::deque<const Message*>> by_source;
            for (const int index :
                 in_order(its, [](const Message& message) { return is_early(message.send); })) {
                const Message& message = round_->messages[as_size(index)];
                by_source[peer(message.from)].push_back(&message);
            }
            for (const int index :
                 in_order(its, [](const Message& message) { return is_early(message.receive); })) {
                const auto operation = std::find_if(unknown_.begin(), unknown_.end(),
                                                    [&](const auto& one) { return one->message == index; });
                check(operation != unknown_.end() && (*operation)->has_status, "a receive is missing");
                auto& sent = by_source[(*operation)->status.MPI_SOURCE];
                check(!sent.empty(), "a receive of message " + std::to_string(index) + " got one from " +
                                         std::to_string((*operation)->status.MPI_SOURCE) +
                                         ", which sent no more");
                check_receive(**operation, *sent.front(), id_of(*sent.front()));
                sent.pop_front();
            }
        }
        for (auto& one : unknown_) {
            if (one->persistent)
                persistent_.push_back(std::move(one));
            else
                one->buffer.free_type();
        }
        unknown_.clear();
    }

    void free_persistent() {
        for (auto& one : persistent_) {
            MPI_Request_free(&one->request);
            check(one->request == MPI_REQUEST_NULL, "a freed request is not null");
            one->buffer.free_type();
        }
        persistent_.clear();
    }

    // Some calls that complete nothing that they should not.
    void poll() {
        if (active_.empty()) return;
        const auto index = as_size(own_.below(static_cast<int>(active_.size())));
        int flag = 0;
        MPI_Status status;
        MPI_Test(&active_[index]->request, &flag, &status);
        if (flag != 0) completed(index, &status);
    }

    // `all`: else some remain for later rounds.
    void complete(bool all) {
        std::vector<std::unique_ptr<Operation>> staying;
        for (auto one = active_.begin(); !all && one != active_.end();) {
            if ((*one)->may_stay && !(*one)->persistent && own_.one_in(3)) {
                staying.push_back(std::move(*one));
                one = active_.erase(one);
            } else {
                ++one;
            }
        }
        while (!active_.empty()) {
            if (own_.one_in(3)) compute(own_);
            own_.shuffle(active_);
            complete_some();
        }
        active_ = std::move(staying);
    }
    // MPI_Testall of MPICH fails if a request is partitioned.
    static bool is_alone([[maybe_unused]] const Operation& operation) {
#ifdef MPICH_NUMVERSION
        return operation.kind == Kind::partitioned;
#else
        return false;
#endif
    }
    // After MPI_Request_get_status of MPICH 5.0 and Intel MPI, the status of a persistent receive is lost.
    static bool may_get_status(const Operation& operation) {
        static const bool loses = [] {
            char version[MPI_MAX_LIBRARY_VERSION_STRING];
            int length = 0;
            MPI_Get_library_version(version, &length);
            const std::string_view text(version, static_cast<std::size_t>(length));
            const std::size_t number = std::min(text.find_first_of("0123456789"), text.size());
            return text.starts_with("Intel") ||
                   (text.starts_with("MPICH Version:") && text.substr(number).starts_with("5."));
        }();
        return !loses || !operation.persistent;
    }
    void complete_some() {
        const auto end =
            std::find_if(active_.begin(), active_.end(), [](const auto& one) { return is_alone(*one); });
        const bool one = own_.one_in(3) || end == active_.begin();
        const int count = one ? 1 : 1 + own_.below(static_cast<int>(end - active_.begin()));
        std::vector<MPI_Request> requests;
        bool needs_status = false;
        for (int i = 0; i < count; ++i) {
            requests.push_back(active_[as_size(i)]->request);
            needs_status = needs_status || active_[as_size(i)]->needs_status;
        }
        // Null requests do not count.
        const bool with_null = !one && own_.one_in(4);
        if (with_null) requests.push_back(MPI_REQUEST_NULL);
        const auto all = static_cast<int>(requests.size());
        std::vector<MPI_Status> statuses(requests.size());
        std::vector<int> indices(requests.size());
        const bool ignores = !needs_status && own_.one_in(3);
        MPI_Status* const every = ignores ? MPI_STATUSES_IGNORE : statuses.data();
        MPI_Status* const single = ignores ? MPI_STATUS_IGNORE : statuses.data();
        std::vector<int> done;  // the status of each is at the same place of `statuses`
        int flag = 0;
        int number = 0;
        const int of_several = 6;
        switch (one ? of_several + own_.below(may_get_status(*active_.front()) ? 3 : 2)
                    : own_.below(of_several)) {
            case 0:
                MPI_Waitall(all, requests.data(), every);
                done = ranks_from(0, count);
                break;
            case 1:
                MPI_Waitany(all, requests.data(), &number, single);
                done = {number};
                break;
            case 2:
                MPI_Waitsome(all, requests.data(), &number, indices.data(), every);
                done.assign(indices.begin(), indices.begin() + number);
                break;
            case 3:
                while (flag == 0) {
                    MPI_Testall(all, requests.data(), &flag, every);
                    if (flag == 0) compute(own_);
                }
                done = ranks_from(0, count);
                break;
            case 4:
                while (flag == 0) {
                    MPI_Testany(all, requests.data(), &number, &flag, single);
                    if (flag == 0) compute(own_);
                }
                done = {number};
                break;
            case 5:
                while (number == 0) {
                    MPI_Testsome(all, requests.data(), &number, indices.data(), every);
                    if (number == 0) compute(own_);
                }
                done.assign(indices.begin(), indices.begin() + number);
                break;
            case of_several:
                MPI_Wait(requests.data(), single);
                done = {0};
                break;
            default:
                while (flag == 0) {
                    MPI_Request_get_status(requests[0], &flag, single);
                    if (flag == 0) compute(own_);
                }
                flag = 0;
                [[fallthrough]];
            case of_several + 1:
                while (flag == 0) {
                    MPI_Test(requests.data(), &flag, single);
                    if (flag == 0) compute(own_);
                }
                done = {0};
        }
        for (int i = 0; i < count; ++i) active_[as_size(i)]->request = requests[as_size(i)];
        check(!done.empty(), "nothing is complete");
        std::map<int, const MPI_Status*, std::greater<>> by_index;  // from behind: completed() removes them
        for (std::size_t i = 0; i < done.size(); ++i) {
            check(done[i] >= 0 && done[i] < count &&
                      by_index.emplace(done[i], ignores ? nullptr : &statuses[i]).second,
                  "a wrong index");
        }
        for (const auto& [index, status] : by_index) completed(as_size(index), status);
    }

    std::uint64_t seed_;
    Random plan_;
    Random own_;
    bool threads_;
    Communicators& communicators_;
    std::deque<Round> rounds_;  // requests stay beyond their round
    const Round* round_ = nullptr;
    int number_ = 0;
    int iteration_ = 0;
    std::vector<std::unique_ptr<Operation>> active_;
    std::vector<std::unique_ptr<Operation>> persistent_;
    std::vector<std::unique_ptr<Operation>> unknown_;
    std::vector<std::unique_ptr<Operation>> without_message_;
    std::vector<std::unique_ptr<Operation>> kept_;  // freed requests
    std::vector<unsigned char> attached_;
};

void live(Program& program, bool turns) {
    const int rounds = program.rounds();
    for (int i = 0; i < rounds; ++i) {
        if (turns)
            std::thread([&] { program.run(i); }).join();
        else
            program.run(i);
    }
    program.end();
}

}  // namespace

int main(int argc, char** argv) {
    const std::uint64_t seed = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1;
    const int count = argc > 2 ? std::atoi(argv[2]) : 0;
    const bool turns = argc > 3 && std::string(argv[3]) == "turns";
    const int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED};
    const int needed = count > 0 ? MPI_THREAD_MULTIPLE : turns ? MPI_THREAD_SERIALIZED : levels[seed % 3];
    int provided = MPI_THREAD_SINGLE;
    if (seed % 4 == 0 && needed == MPI_THREAD_SINGLE)
        MPI_Init(nullptr, nullptr);
    else
        MPI_Init_thread(nullptr, nullptr, needed, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_ranks);
    if (provided < needed) {
        if (world_rank == 0) std::puts("no threads");
        MPI_Finalize();
        return 0;
    }
    std::vector<std::unique_ptr<Communicators>> communicators;
    std::vector<std::unique_ptr<Program>> programs;
    for (int i = 0; i < std::max(count, 1); ++i) {
        Random random(seed * 1'000 + static_cast<std::uint64_t>(i));
        communicators.push_back(std::make_unique<Communicators>(random));
        programs.push_back(std::make_unique<Program>(seed, i, count > 0, *communicators.back()));
    }
    if (count > 0) {
        // The threads share the buffer, and cannot know when the others need it no more.
        std::vector<unsigned char> attached(std::size_t{256} << 20);
        MPI_Buffer_attach(attached.data(), static_cast<int>(attached.size()));
        std::vector<std::thread> running;
        for (auto& program : programs) running.emplace_back([&] { live(*program, false); });
        for (std::thread& thread : running) thread.join();
        void* address = nullptr;
        int size = 0;
        MPI_Buffer_detach(&address, &size);
    } else {
        live(*programs.front(), turns);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (auto& one : communicators) one->free();
    if (world_rank == 0) std::puts("ok");
    MPI_Finalize();
    return 0;
}
