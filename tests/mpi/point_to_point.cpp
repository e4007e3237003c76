// A random, correct program of point-to-point messages. All ranks derive one plan from the seed: which
// messages a round has, how each is sent and received, and of which type. How a rank completes its requests,
// and how long it computes in between, is its own choice. Every byte of each receive buffer, holes included,
// and every status are compared with the plan.
//   messages-<mpi> SEED THREADS [turns]
// THREADS 0: one thread, of the thread level that the seed chooses. Otherwise this number of threads run such
// a program at once, by MPI_THREAD_MULTIPLE, each on communicators of its own.
//   turns     MPI_THREAD_SERIALIZED: each round of the program is run by another thread
// Rank 0 prints "ok" at the end. At the first difference a rank prints its rank, the seed and the round, and
// aborts.
//
// A round cannot deadlock. Every rank, in this order: posts the early receives; starts the nonblocking sends;
// walks through the messages in the order of the plan, with the blocking sends and the late receives; and
// completes its requests. Messages that a receive cannot tell apart form a class: then either all are sent by
// nonblocking calls, or all are received by early receives.
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace {

using Bytes = std::vector<unsigned char>;

constexpr unsigned char untouched = 0xA5;
// Of receives that match no message. The tags of round r begin at r * tags_per_round.
constexpr int tag_without_message = 32'000;
constexpr int tags_per_round = 16;

class Random {
  public:
    explicit Random(std::uint64_t seed) : engine_(seed) {}
    int below(int limit) { return static_cast<int>(engine_() % static_cast<std::uint64_t>(limit)); }
    bool one_in(int times) { return below(times) == 0; }
    template <typename Value>
    const Value& one_of(const std::vector<Value>& values) {
        return values[static_cast<std::size_t>(below(static_cast<int>(values.size())))];
    }

  private:
    std::mt19937_64 engine_;
};

int world_rank = 0;
int world_ranks = 0;

std::size_t as_size(int value) {
    return static_cast<std::size_t>(value);
}

// ---- Data ----

struct Element {
    MPI_Datatype type;
    int size;
};

std::vector<Element> elements() {
    return {{MPI_BYTE, 1}, {MPI_INT, 4}, {MPI_DOUBLE, 8}};
}

enum class Form { contiguous, vector, indexed, structure, one_vector, absolute };

// How a buffer holds its elements. Equal on all ranks, so that the plan knows how many elements a send can
// have.
struct Shape {
    Form form = Form::contiguous;
    int block = 1;
    int blocks = 1;
    int gap = 1;

    explicit Shape(Random& random)
        : form(static_cast<Form>(random.below(3) > 0 ? 0 : random.below(6))),
          block(1 + random.below(5)),
          blocks(1 + random.below(4)),
          gap(1 + random.below(3)) {}
    // The number of elements is a multiple of this.
    int period() const {
        switch (form) {
            case Form::contiguous:
            case Form::absolute:
                return 1;
            case Form::one_vector:
                return block;
            default:
                return block * blocks;
        }
    }
    int rounded(int count) const { return (count + period() - 1) / period() * period(); }
};

// A buffer of a shape, and the arguments that describe it to MPI.
class Buffer {
  public:
    Buffer() = default;
    Buffer(const Shape& shape, const Element& element, int elements) : element_(element) {
        const int size = element.size;
        const int wide = shape.block + shape.gap;
        count_ = elements / shape.period();
        type_ = element.type;
        offsets_ = {0};
        extent_ = as_size(size);
        switch (shape.form) {
            case Form::contiguous:
                break;
            case Form::vector:
                blocks_at(shape.blocks, shape.block, wide, 0);
                MPI_Type_vector(shape.blocks, shape.block, wide, element.type, &type_);
                extent_ = as_size((wide * (shape.blocks - 1) + shape.block) * size);
                break;
            case Form::one_vector: {
                const int blocks = count_;
                blocks_at(blocks, shape.block, wide, 0);
                extent_ = as_size(std::max(0, wide * blocks * size));
                MPI_Type_vector(blocks, shape.block, wide, element.type, &type_);
                count_ = 1;
                break;
            }
            case Form::indexed: {
                // The blocks stand in memory in the reverse order.
                std::vector<int> lengths(as_size(shape.blocks), shape.block);
                std::vector<int> displacements;
                offsets_.clear();
                for (int i = shape.blocks - 1; i >= 0; --i) {
                    displacements.push_back(i * wide);
                    for (int j = 0; j < shape.block; ++j) offsets_.push_back(as_size((i * wide + j) * size));
                }
                MPI_Type_indexed(shape.blocks, lengths.data(), displacements.data(), element.type, &type_);
                extent_ = as_size((wide * (shape.blocks - 1) + shape.block) * size);
                break;
            }
            case Form::structure: {
                // A hole in front, between the members, and at the end.
                blocks_at(shape.blocks, shape.block, wide, shape.gap);
                std::vector<int> lengths(as_size(shape.blocks), shape.block);
                std::vector<MPI_Aint> displacements;
                for (int i = 0; i < shape.blocks; ++i) displacements.push_back((i * wide + shape.gap) * size);
                const std::vector<MPI_Datatype> types(as_size(shape.blocks), element.type);
                MPI_Datatype members = MPI_DATATYPE_NULL;
                MPI_Type_create_struct(shape.blocks, lengths.data(), displacements.data(), types.data(),
                                       &members);
                extent_ = as_size((wide * shape.blocks + 2 * shape.gap) * size);
                MPI_Type_create_resized(members, 0, static_cast<MPI_Aint>(extent_), &type_);
                MPI_Type_free(&members);
                break;
            }
            case Form::absolute:
                absolute_ = true;
                break;
        }
        memory_.assign(extent_ * as_size(std::max(count_, 1)) + 8, untouched);
        if (absolute_) {
            MPI_Aint address = 0;
            MPI_Get_address(memory_.data(), &address);
            MPI_Type_create_hindexed(1, &count_, &address, element.type, &type_);
            extent_ = as_size(size);
            count_ = 1;
        }
        if (type_ != element.type) MPI_Type_commit(&type_);
    }

    void* address() { return absolute_ ? MPI_BOTTOM : memory_.data(); }
    int count() const { return count_; }
    MPI_Datatype type() const { return type_; }
    // Messages in flight keep the type.
    void free_type() {
        if (type_ != element_.type && type_ != MPI_DATATYPE_NULL) MPI_Type_free(&type_);
        type_ = MPI_DATATYPE_NULL;
    }
    void clear() { std::fill(memory_.begin(), memory_.end(), untouched); }
    // The data of message `id`.
    void fill(std::uint64_t id, int elements) { fill(memory_, id, elements); }
    // The first byte that is not as after a receive of this message; -1: all are.
    long first_difference(std::uint64_t id, int elements) const {
        Bytes expected(memory_.size(), untouched);
        fill(expected, id, elements);
        if (expected == memory_) return -1;
        return std::mismatch(memory_.begin(), memory_.end(), expected.begin()).first - memory_.begin();
    }

  private:
    void blocks_at(int blocks, int block, int wide, int first) {
        offsets_.clear();
        for (int i = 0; i < blocks; ++i)
            for (int j = 0; j < block; ++j)
                offsets_.push_back(as_size((first + i * wide + j) * element_.size));
    }
    void fill(Bytes& memory, std::uint64_t id, int elements) const {
        Bytes data(as_size(elements * element_.size) + 8);
        for (std::size_t i = 0; i + 8 <= data.size(); i += 8) {
            std::uint64_t word = (id << 32) + i;
            word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9U;
            word ^= word >> 27;
            std::memcpy(&data[i], &word, 8);
        }
        const auto size = as_size(element_.size);
        if (offsets_.size() == 1 && extent_ == size) {
            std::memcpy(memory.data(), data.data(), as_size(elements) * size);
            return;
        }
        std::size_t base = 0;
        std::size_t j = 0;
        for (std::size_t i = 0; i < as_size(elements); ++i) {
            std::memcpy(&memory[base + offsets_[j]], &data[i * size], size);
            if (++j == offsets_.size()) {
                j = 0;
                base += extent_;
            }
        }
    }

    Element element_{MPI_BYTE, 1};
    MPI_Datatype type_ = MPI_DATATYPE_NULL;
    int count_ = 0;
    bool absolute_ = false;
    std::vector<std::size_t> offsets_;  // of the elements of one instance of the type
    std::size_t extent_ = 0;            // bytes
    Bytes memory_;
};

// ---- Communicators ----

// Ranks of MPI_COMM_WORLD name the members.
struct Communicator {
    MPI_Comm handle = MPI_COMM_NULL;
    bool inter = false;
    // Each is a communicator of its own, or one of the two groups of the intercommunicator.
    std::vector<std::vector<int>> groups;

    int group_of(int rank) const {
        for (std::size_t i = 0; i < groups.size(); ++i)
            if (std::find(groups[i].begin(), groups[i].end(), rank) != groups[i].end())
                return static_cast<int>(i);
        return -1;
    }
    int rank_of(int rank) const {
        const auto& group = groups[as_size(group_of(rank))];
        return static_cast<int>(std::find(group.begin(), group.end(), rank) - group.begin());
    }
    const std::vector<int>& peers_of(int rank) const {
        const int group = group_of(rank);
        return groups[as_size(inter ? 1 - group : group)];
    }
};

std::vector<int> ranks_from(int first, int end) {
    std::vector<int> ranks;
    for (int i = first; i < end; ++i) ranks.push_back(i);
    return ranks;
}

struct Communicators {
    MPI_Comm all = MPI_COMM_NULL;
    MPI_Comm ring = MPI_COMM_NULL;
    std::deque<Communicator> of_messages;

    // Collective.
    explicit Communicators(Random& random) {
        MPI_Comm_dup(MPI_COMM_WORLD, &all);
        MPI_Comm_dup(MPI_COMM_WORLD, &ring);
        const std::vector<int> everyone = ranks_from(0, world_ranks);
        Communicator& copy = add(false, {everyone});
        MPI_Comm_dup(all, &copy.handle);
        Communicator& reversed = add(false, {{everyone.rbegin(), everyone.rend()}});
        MPI_Comm_split(all, 0, -world_rank, &reversed.handle);
        const int modulus = 1 + random.below(world_ranks);
        std::vector<std::vector<int>> columns(as_size(modulus));
        for (const int rank : everyone) columns[as_size(rank % modulus)].push_back(rank);
        Communicator& column = add(false, columns);
        MPI_Comm_split(all, world_rank % modulus, world_rank, &column.handle);
        const int some = 1 + random.below(world_ranks);
        Communicator& first = add(false, {ranks_from(0, some)});
        MPI_Comm_split(all, world_rank < some ? 0 : MPI_UNDEFINED, world_rank, &first.handle);
        std::vector<std::vector<int>> selves;
        for (const int rank : everyone) selves.push_back({rank});
        Communicator& self = add(false, selves);
        MPI_Comm_dup(MPI_COMM_SELF, &self.handle);
        if (world_ranks < 2) return;
        const int low = 1 + random.below(world_ranks - 1);
        const bool is_low = world_rank < low;
        MPI_Comm half = MPI_COMM_NULL;
        MPI_Comm_split(all, is_low ? 0 : 1, world_rank, &half);
        Communicator& both = add(true, {ranks_from(0, low), ranks_from(low, world_ranks)});
        MPI_Intercomm_create(half, 0, all, is_low ? low : 0, 1, &both.handle);
        MPI_Comm_free(&half);
    }
    void free() {
        for (Communicator& one : of_messages)
            if (one.handle != MPI_COMM_NULL) MPI_Comm_free(&one.handle);
        MPI_Comm_free(&ring);
        MPI_Comm_free(&all);
    }

  private:
    Communicator& add(bool inter, std::vector<std::vector<int>> groups) {
        of_messages.push_back({MPI_COMM_NULL, inter, std::move(groups)});
        return of_messages.back();
    }
};

// ---- The plan ----

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

bool is_early(Send send) {
    return send < Send::send;
}
bool is_persistent(Send send) {
    return send == Send::send_init || send == Send::ssend_init || send == Send::bsend_init ||
           send == Send::rsend_init;
}
bool is_buffered(Send send) {
    return send == Send::ibsend || send == Send::bsend_init || send == Send::bsend;
}
bool is_early(Receive receive) {
    return receive < Receive::late_irecv;
}

struct Message {
    std::uint64_t id = 0;
    int from = 0;  // ranks of MPI_COMM_WORLD
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
    int element = 0;
    int capacity = 0;  // elements of the longest message
    std::vector<int> messages;
};

enum class Wildcards { none, source, tag, both };

struct Round {
    const Communicator* communicator = nullptr;
    std::vector<Message> messages;
    std::vector<Class> classes;
    int iterations = 1;
    bool ready_barrier = false;  // after the early receives
    bool last_barrier = false;  // no rank goes on while another may have a wildcard receive without a message
    int ring_at = -1;           // a shift by MPI_Sendrecv, before this message
    int collective = -1;
    int blocking_collective = -1;
    int partitions = 0;
};

int random_size(Random& random) {
    switch (random.below(20)) {
        case 0:
            return 0;
        case 1:
        case 2:
            return 1 + random.below(64);
        case 3:
        case 4:
            return 1 + random.below(4'096);
        case 5:
        case 6:
            return 4'096 + random.below(28'672);
        case 7:
            return 32'768 + random.below(3) - 1;
        case 8:
            return 262'144 + random.below(786'433);
        default:
            return 32'768 + random.below(229'377);
    }
}

Send random_send(Random& random, bool early, bool posted) {
    if (posted && random.one_in(4))
        return random.one_of<Send>({Send::irsend, Send::rsend_init, early ? Send::irsend : Send::rsend});
    if (!early && random.one_in(3))
        return random.one_of<Send>({Send::send, Send::send, Send::ssend, Send::bsend});
    return random.one_of<Send>({Send::isend, Send::isend, Send::isend, Send::isend, Send::issend,
                                Send::ibsend, Send::isend_freed, Send::send_init, Send::send_init,
                                Send::ssend_init, Send::bsend_init});
}

Receive random_receive(Random& random, bool early) {
    if (early || random.one_in(2))
        return random.one_of<Receive>({Receive::irecv, Receive::irecv, Receive::recv_init});
    return static_cast<Receive>(static_cast<int>(Receive::late_irecv) + random.below(8));
}

Round random_round(Random& random, const Communicators& communicators, int number) {
    Round round;
    const Communicator& communicator =
        communicators.of_messages[as_size(random.below(static_cast<int>(communicators.of_messages.size())))];
    round.communicator = &communicator;
    std::vector<int> members;
    for (const auto& group : communicator.groups) members.insert(members.end(), group.begin(), group.end());
    std::vector<Wildcards> wildcards;
    std::vector<int> element;
    for (int i = 0; i < world_ranks; ++i) {
        wildcards.push_back(random.one_in(2) ? Wildcards::none : static_cast<Wildcards>(random.below(4)));
        element.push_back(random.below(3));
    }
    round.ready_barrier = random.one_in(3);
    const bool persistent = random.one_in(2);
    const int count = 1 + random.below(3 + 2 * world_ranks);
    std::map<std::vector<int>, int> classes;
    for (int i = 0; i < count; ++i) {
        const int from = random.one_of(members);
        const int to = random.one_of(communicator.peers_of(from));
        const Wildcards wild = wildcards[as_size(to)];
        const int tag = number * tags_per_round + random.below(3);
        Message message{.id = 0,
                        .from = from,
                        .to = to,
                        .tag = tag,
                        .elements = 0,
                        .sent = Shape(random),
                        .received = Shape(random)};
        const int size = elements()[as_size(element[as_size(to)])].size;
        message.elements = message.sent.rounded(random_size(random) / size);
        const bool any_source = wild == Wildcards::source || wild == Wildcards::both;
        const bool any_tag = wild == Wildcards::tag || wild == Wildcards::both;
        const std::vector<int> key{to, any_source ? -1 : from, any_tag ? -1 : tag};
        if (!classes.contains(key)) {
            classes[key] = static_cast<int>(round.classes.size());
            round.classes.push_back({any_source, any_tag, element[as_size(to)], 0, {}});
        }
        message.of_class = classes[key];
        Class& its = round.classes[as_size(message.of_class)];
        its.capacity = std::max(its.capacity, message.elements);
        its.messages.push_back(i);
        if (any_tag) round.last_barrier = true;
        round.messages.push_back(message);
    }
    bool any_persistent = false;
    bool any_source = false;
    for (const Class& one : round.classes) {
        const bool all_posted = random.one_in(2);
        const bool several = one.messages.size() > 1;
        any_source = any_source || one.any_source;
#ifdef MPICH_NUMVERSION
        // MPICH 4.0 loses messages of a rank to itself whose request is freed, and matched probes of such
        // messages crash.
        const bool with_self = std::any_of(one.messages.begin(), one.messages.end(), [&](int i) {
            return round.messages[as_size(i)].from == round.messages[as_size(i)].to;
        });
#endif
        for (const int i : one.messages) {
            Message& message = round.messages[as_size(i)];
            message.receive = random_receive(random, all_posted);
            const bool posted = all_posted && round.ready_barrier;
            // A rank cannot wait for its own late receive.
            const bool early = !all_posted && (several || message.from == message.to);
            message.send = random_send(random, early, posted);
#ifdef MPICH_NUMVERSION
            if (message.from == message.to && message.send == Send::isend_freed) message.send = Send::isend;
            if (with_self && message.receive >= Receive::mprobe) message.receive = Receive::probe;
#endif
            if (!persistent) {
                if (is_persistent(message.send)) message.send = Send::isend;
                if (message.receive == Receive::recv_init) message.receive = Receive::irecv;
            }
#ifdef OPEN_MPI
            // The second start sends wrong data, if the message is long.
            if (message.send == Send::bsend_init) message.send = Send::ibsend;
#endif
            any_persistent =
                any_persistent || is_persistent(message.send) || message.receive == Receive::recv_init;
        }
    }
    if (any_persistent) round.iterations = 1 + random.below(3);
    if (any_source && round.iterations > 1) round.last_barrier = true;
    if (random.one_in(4)) round.ring_at = random.below(count);
    if (random.one_in(3)) round.collective = random.below(4);
    if (random.one_in(4)) round.blocking_collective = random.below(3);
    if (random.one_in(3)) round.partitions = 1 + random.below(8);
    return round;
}

// ---- A thread's program ----

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
    int elements = 0;  // that a partitioned receive expects
    const Communicator* communicator = nullptr;
    int of_class = -1;
    int message = -1;  // of the plan; of a receive: for which it was posted
    // Of a receive whose message is known before.
    const Message* expected = nullptr;
    std::uint64_t id = 0;  // of the data
    bool complete = false;
    MPI_Status status{};
    bool has_status = false;
    std::vector<int> in, out, right;  // of a collective
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
        Round& round =
            *plans_.emplace_back(std::make_unique<Round>(random_round(plan_, communicators_, number)));
        round_ = &round;
        if (!threads_) attach(round);
        if (own_.one_in(4)) post_without_message();
        if (own_.one_in(4)) without_peer();
        make_persistent();
        for (iteration_ = 0; iteration_ < round.iterations; ++iteration_) {
            number_messages();
            receive_early();
            if (round.ready_barrier) MPI_Barrier(communicators_.all);
            send_early();
            if (round.collective >= 0) start_collective(round.collective);
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

    Element element_of(const Message& message) const {
        return elements()[as_size(round_->classes[as_size(message.of_class)].element)];
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
        made.communicator = round_->communicator;
        return made;
    }
    void number_messages() {
        for (std::size_t i = 0; i < round_->messages.size(); ++i)
            round_->messages[i].id = as_size((number_ * 8 + iteration_) * 256) + i + 1;
    }
    // The message that a receive of a class with one source gets: the first receive gets the first message.
    const Message* expected_for(int index) const {
        const Message& posted = round_->messages[as_size(index)];
        const Class& its = round_->classes[as_size(posted.of_class)];
        if (its.any_source) return nullptr;
        const std::vector<int> receives =
            in_order(its, [](const Message& message) { return is_early(message.receive); });
        const std::vector<int> sends =
            in_order(its, [](const Message& message) { return is_early(message.send); });
        const auto position = std::find(receives.begin(), receives.end(), index) - receives.begin();
        return &round_->messages[as_size(sends[as_size(static_cast<int>(position))])];
    }
    template <typename IsEarly>
    std::vector<int> in_order(const Class& its, IsEarly early) const {
        std::vector<int> order = its.messages;
        std::stable_partition(order.begin(), order.end(),
                              [&](int i) { return early(round_->messages[as_size(i)]); });
        return order;
    }
    void prepare_receive(Operation& operation, int index) const {
        const Message& message = round_->messages[as_size(index)];
        const Class& its = round_->classes[as_size(message.of_class)];
        if (operation.buffer.type() == MPI_DATATYPE_NULL) {
            operation.buffer =
                Buffer(message.received, element_of(message), message.received.rounded(its.capacity));
        } else {
            operation.buffer.clear();
        }
        operation.of_class = message.of_class;
        operation.message = index;
        operation.expected = expected_for(index);
        operation.id = operation.expected == nullptr ? 0 : operation.expected->id;
        operation.needs_status = operation.expected == nullptr;
        operation.may_stay = operation.expected != nullptr;
        operation.complete = operation.has_status = false;
    }
    int source_of(const Message& message) const {
        return round_->classes[as_size(message.of_class)].any_source ? MPI_ANY_SOURCE : peer(message.from);
    }
    int tag_of(const Message& message) const {
        return round_->classes[as_size(message.of_class)].any_tag ? MPI_ANY_TAG : message.tag;
    }

    void make_persistent() {
        for (std::size_t i = 0; i < round_->messages.size(); ++i) {
            const Message& message = round_->messages[i];
            if (message.from == world_rank && is_persistent(message.send)) {
                Operation& made = *persistent_.emplace_back(std::make_unique<Operation>());
                made.kind = Kind::send;
                made.message = static_cast<int>(i);
                made.persistent = true;
                made.buffer = Buffer(message.sent, element_of(message), message.elements);
                const auto init = message.send == Send::send_init    ? MPI_Send_init
                                  : message.send == Send::ssend_init ? MPI_Ssend_init
                                  : message.send == Send::bsend_init ? MPI_Bsend_init
                                                                     : MPI_Rsend_init;
                init(made.buffer.address(), made.buffer.count(), made.buffer.type(), peer(message.to),
                     message.tag, handle(), &made.request);
            }
            if (message.to == world_rank && message.receive == Receive::recv_init) {
                Operation& made = *persistent_.emplace_back(std::make_unique<Operation>());
                made.kind = Kind::receive;
                made.communicator = round_->communicator;
                made.persistent = true;
                prepare_receive(made, static_cast<int>(i));
                MPI_Recv_init(made.buffer.address(), made.buffer.count(), made.buffer.type(),
                              source_of(message), tag_of(message), handle(), &made.request);
            }
        }
        for (auto& one : persistent_)
            if (own_.one_in(3)) free_type_of_persistent(*one);
    }
    // The type remains in the request. The buffer must not be made again.
    void free_type_of_persistent(Operation& operation) {
        if (operation.kind == Kind::send) operation.buffer.free_type();
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
    std::unique_ptr<Operation> take_persistent(Kind kind, std::size_t message) {
        for (auto one = persistent_.begin(); one != persistent_.end(); ++one) {
            if ((*one)->kind != kind || (*one)->message != static_cast<int>(message)) continue;
            std::unique_ptr<Operation> taken = std::move(*one);
            persistent_.erase(one);
            return taken;
        }
        wrong("a persistent request is missing");
    }

    void receive_early() {
        std::vector<std::unique_ptr<Operation>> started;
        for (std::size_t i = 0; i < round_->messages.size(); ++i) {
            const Message& message = round_->messages[i];
            if (message.to != world_rank || !is_early(message.receive)) continue;
            if (message.receive == Receive::recv_init) {
                start_if_of_class(started, message.of_class);
                started.push_back(take_persistent(Kind::receive, i));
                prepare_receive(*started.back(), static_cast<int>(i));
                continue;
            }
            start(started);
            irecv(static_cast<int>(i));
        }
        start(started);
    }
    void irecv(int index) {
        const Message& message = round_->messages[as_size(index)];
        Operation& made = add(Kind::receive);
        prepare_receive(made, index);
        MPI_Irecv(made.buffer.address(), made.buffer.count(), made.buffer.type(), source_of(message),
                  tag_of(message), handle(), &made.request);
        if (own_.one_in(2)) made.buffer.free_type();
    }

    void send_early() {
        std::vector<std::unique_ptr<Operation>> started;
        for (std::size_t i = 0; i < round_->messages.size(); ++i) {
            const Message& message = round_->messages[i];
            if (message.from != world_rank || !is_early(message.send)) continue;
            if (is_persistent(message.send)) {
                start_if_of_class(started, message.of_class);
                started.push_back(take_persistent(Kind::send, i));
                started.back()->of_class = message.of_class;
                started.back()->buffer.fill(message.id, message.elements);
                continue;
            }
            start(started);
            Operation& made = add(Kind::send);
            made.may_stay = true;
            made.buffer = Buffer(message.sent, element_of(message), message.elements);
            made.buffer.fill(message.id, message.elements);
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
        for (std::size_t i = 0; i < round_->messages.size(); ++i) {
            const Message& message = round_->messages[i];
            if (round_->ring_at == static_cast<int>(i)) shift();
            if (message.from == world_rank && !is_early(message.send)) send(message);
            if (message.to == world_rank && !is_early(message.receive)) receive_late(static_cast<int>(i));
            if (own_.one_in(8)) poll();
        }
    }
    void send(const Message& message) {
        Buffer buffer(message.sent, element_of(message), message.elements);
        buffer.fill(message.id, message.elements);
        const auto call = message.send == Send::ssend   ? MPI_Ssend
                          : message.send == Send::bsend ? MPI_Bsend
                          : message.send == Send::rsend ? MPI_Rsend
                                                        : MPI_Send;
        call(buffer.address(), buffer.count(), buffer.type(), peer(message.to), message.tag, handle());
        buffer.free_type();
    }
    void receive_late(int index) {
        const Message& message = round_->messages[as_size(index)];
        if (message.receive == Receive::late_irecv) return irecv(index);
        Operation& made = add(Kind::receive);
        prepare_receive(made, index);
        const int source = source_of(message);
        const int tag = tag_of(message);
        const Element element = element_of(message);
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
                          count_in(probed, element) == count_in(made.status, element),
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
        Random simple(1);
        Shape contiguous(simple);
        contiguous.form = Form::contiguous;
        const Element element = {MPI_INT, 4};
        Buffer out(contiguous, element, elements);
        Buffer in(contiguous, element, elements);
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
        Random simple(1);
        Shape contiguous(simple);
        contiguous.form = Form::contiguous;
        const int elements = own_.one_in(2) ? 100 : 100'000;
        made.buffer = Buffer(contiguous, {MPI_BYTE, 1}, elements);
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
            check(one->buffer.first_difference(0, 0) == -1, "a cancelled receive has data");
        }
        without_message_.clear();
    }
    void without_peer() {
        if (handle() == MPI_COMM_NULL) return;
        const Element element{MPI_BYTE, 1};
        Random simple(1);
        Shape contiguous(simple);
        contiguous.form = Form::contiguous;
        Buffer buffer(contiguous, element, 100'000);
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
                made.buffer = Buffer(contiguous, element, 100'000);
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
    void start_collective(int which) {
        Operation& made = add(Kind::collective);
        made.may_stay = true;
        const int count = number_ % 2 == 0 ? 3 : 10'000;
        const auto ranks = as_size(world_ranks);
        const int value = number_ * 10 + iteration_;
        switch (which) {
            case 0:
                MPI_Ibarrier(communicators_.all, &made.request);
                break;
            case 1:
                made.in.assign(as_size(count), value + world_rank);
                made.out.assign(as_size(count), -1);
                made.right.assign(as_size(count), world_ranks * value + world_ranks * (world_ranks - 1) / 2);
                MPI_Iallreduce(made.in.data(), made.out.data(), count, MPI_INT, MPI_SUM, communicators_.all,
                               &made.request);
                break;
            case 2: {
                const int root = number_ % world_ranks;
                made.out.assign(as_size(count), world_rank == root ? value : -1);
                made.right.assign(as_size(count), value);
                MPI_Ibcast(made.out.data(), count, MPI_INT, root, communicators_.all, &made.request);
                break;
            }
            default:
                made.in.assign(as_size(count) * ranks, value + world_rank);
                made.out.assign(as_size(count) * ranks, -1);
                for (int i = 0; i < world_ranks; ++i)
                    made.right.insert(made.right.end(), as_size(count), value + i);
                MPI_Ialltoall(made.in.data(), count, MPI_INT, made.out.data(), count, MPI_INT,
                              communicators_.all, &made.request);
        }
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
        Random simple(1);
        Shape contiguous(simple);
        contiguous.form = Form::contiguous;
        const Element element{MPI_INT, 4};
        Operation& receive = add(Kind::partitioned);
        receive.persistent = true;
        receive.buffer = Buffer(contiguous, element, elements);
        receive.elements = elements;
        receive.id = as_size(number_ * 1'000 + (world_rank + world_ranks - 1) % world_ranks);
        MPI_Precv_init(receive.buffer.address(), partitions, each, MPI_INT,
                       (world_rank + world_ranks - 1) % world_ranks, number_, communicators_.ring,
                       MPI_INFO_NULL, &receive.request);
        Operation& send = add(Kind::partitioned);
        send.persistent = true;
        send.buffer = Buffer(contiguous, element, elements);
        send.buffer.fill(as_size(number_ * 1'000 + world_rank), elements);
        MPI_Psend_init(send.buffer.address(), partitions, each, MPI_INT, (world_rank + 1) % world_ranks,
                       number_, communicators_.ring, MPI_INFO_NULL, &send.request);
        MPI_Start(&receive.request);
        MPI_Start(&send.request);
        std::vector<int> order = ranks_from(0, partitions);
        for (std::size_t i = order.size(); i > 1; --i)
            std::swap(order[i - 1], order[as_size(own_.below(static_cast<int>(i)))]);
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

    void check_receive(const Operation& operation, const Message& message, int element,
                       std::uint64_t id) const {
        if (operation.has_status) {
            const MPI_Status& status = operation.status;
            const int source = operation.communicator->rank_of(message.from);
            const int count = count_in(status, elements()[as_size(element)]);
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
        operation->complete = true;
        operation->has_status = status != nullptr;
        if (status != nullptr) operation->status = *status;
        check(operation->persistent || operation->request == MPI_REQUEST_NULL,
              "a complete request is not null");
        check(!operation->persistent || operation->request != MPI_REQUEST_NULL,
              "a persistent request is null");
        switch (operation->kind) {
            case Kind::receive:
                if (operation->expected != nullptr) {
                    const Round& round = *plan_of(*operation);
                    check_receive(*operation, *operation->expected,
                                  round.classes[as_size(operation->of_class)].element, operation->id);
                }
                break;
            case Kind::without_peer:
#if !defined(MPICH_NUMVERSION) || MPICH_NUMVERSION >= 50000000
                // MPICH 4.0 sets source and tag to 0.
                if (operation->needs_status) check_without_peer(operation->status);
#endif
                check(operation->buffer.first_difference(0, 0) == -1, "data from MPI_PROC_NULL");
                break;
            case Kind::collective:
                check(operation->out == operation->right, "a collective");
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
    const Round* plan_of(const Operation& operation) const {
        for (const auto& plan : plans_) {
            const Message* const first = plan->messages.data();
            if (operation.expected >= first && operation.expected < first + plan->messages.size())
                return plan.get();
        }
        return round_;
    }

    // The receives from any source, all complete: the messages of each source came in their order.
    void check_classes() {
        for (std::size_t i = 0; i < round_->classes.size(); ++i) {
            const Class& its = round_->classes[i];
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
                check_receive(**operation, *sent.front(), its.element, sent.front()->id);
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
            for (std::size_t i = active_.size(); i > 1; --i)
                std::swap(active_[i - 1], active_[as_size(own_.below(static_cast<int>(i)))]);
            if (own_.one_in(3) || is_alone(*active_.front()))
                complete_one();
            else
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
    void complete_one() {
        Operation& operation = *active_.front();
        MPI_Status status;
        const bool ignores = !operation.needs_status && own_.one_in(3);
        MPI_Status* const out = ignores ? MPI_STATUS_IGNORE : &status;
        int flag = 0;
        switch (own_.below(may_get_status(operation) ? 4 : 2)) {
            case 0:
                MPI_Wait(&operation.request, out);
                break;
            case 1:
                while (flag == 0) {
                    MPI_Test(&operation.request, &flag, out);
                    if (flag == 0) compute(own_);
                }
                break;
            default: {
                const MPI_Request before = operation.request;
                while (flag == 0) {
                    MPI_Request_get_status(operation.request, &flag, out);
                    if (flag == 0) compute(own_);
                }
                check(operation.request == before, "MPI_Request_get_status changed the request");
                flag = 0;
                MPI_Test(&operation.request, &flag, out);
                check(flag != 0, "a request is complete by MPI_Request_get_status, but not by MPI_Test");
            }
        }
        completed(0, ignores ? nullptr : &status);
    }
    void complete_some() {
        const auto end =
            std::find_if(active_.begin(), active_.end(), [](const auto& one) { return is_alone(*one); });
        const int count = 1 + own_.below(static_cast<int>(end - active_.begin()));
        std::vector<MPI_Request> requests;
        bool needs_status = false;
        for (int i = 0; i < count; ++i) {
            requests.push_back(active_[as_size(i)]->request);
            needs_status = needs_status || active_[as_size(i)]->needs_status;
        }
        // Null requests do not count.
        const bool with_null = own_.one_in(4);
        if (with_null) requests.push_back(MPI_REQUEST_NULL);
        const auto all = static_cast<int>(requests.size());
        std::vector<MPI_Status> statuses(requests.size());
        std::vector<int> indices(requests.size());
        const bool ignores = !needs_status && own_.one_in(3);
        MPI_Status* const every = ignores ? MPI_STATUSES_IGNORE : statuses.data();
        MPI_Status* const single = ignores ? MPI_STATUS_IGNORE : statuses.data();
        std::vector<std::pair<int, const MPI_Status*>> done;
        int flag = 0;
        int number = 0;
        const auto add_all = [&] {
            for (int i = 0; i < count; ++i) done.emplace_back(i, ignores ? nullptr : &statuses[as_size(i)]);
        };
        const auto add_one = [&] { done.emplace_back(number, ignores ? nullptr : statuses.data()); };
        const auto add_some = [&] {
            for (int i = 0; i < number; ++i)
                done.emplace_back(indices[as_size(i)], ignores ? nullptr : &statuses[as_size(i)]);
        };
        switch (own_.below(6)) {
            case 0:
                MPI_Waitall(all, requests.data(), every);
                add_all();
                break;
            case 1:
                MPI_Waitany(all, requests.data(), &number, single);
                add_one();
                break;
            case 2:
                MPI_Waitsome(all, requests.data(), &number, indices.data(), every);
                add_some();
                break;
            case 3:
                while (flag == 0) {
                    MPI_Testall(all, requests.data(), &flag, every);
                    if (flag == 0) compute(own_);
                }
                add_all();
                break;
            case 4:
                while (flag == 0) {
                    MPI_Testany(all, requests.data(), &number, &flag, single);
                    if (flag == 0) compute(own_);
                }
                add_one();
                break;
            default:
                while (number == 0) {
                    MPI_Testsome(all, requests.data(), &number, indices.data(), every);
                    if (number == 0) compute(own_);
                }
                add_some();
        }
        for (int i = 0; i < count; ++i) active_[as_size(i)]->request = requests[as_size(i)];
        // From behind: completed() removes them.
        std::sort(done.begin(), done.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
        check(!done.empty(), "nothing is complete");
        for (std::size_t i = 0; i < done.size(); ++i) {
            check(
                done[i].first >= 0 && done[i].first < count && (i == 0 || done[i].first != done[i - 1].first),
                "a wrong index");
            completed(as_size(done[i].first), done[i].second);
        }
    }

    std::uint64_t seed_;
    Random plan_;
    Random own_;
    bool threads_;
    Communicators& communicators_;
    std::vector<std::unique_ptr<Round>> plans_;
    Round* round_ = nullptr;
    int number_ = 0;
    int iteration_ = 0;
    std::vector<std::unique_ptr<Operation>> active_;
    std::vector<std::unique_ptr<Operation>> persistent_;
    std::vector<std::unique_ptr<Operation>> unknown_;
    std::vector<std::unique_ptr<Operation>> without_message_;
    std::vector<std::unique_ptr<Operation>> kept_;  // freed requests
    Bytes attached_;
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
        Bytes attached(std::size_t{256} << 20);
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
