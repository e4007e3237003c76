#include "point_to_point/plan.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace point_to_point {
namespace {

// What the receives of one rank in one round have in common.
struct Receives {
    bool any_source = false;
    bool any_tag = false;
    Element element;

    explicit Receives(Random& random) {
        if (random.one_in(2)) {
            any_source = random.one_in(2);
            any_tag = random.one_in(2);
        }
        element = random.pick({Element{MPI_BYTE, 1}, Element{MPI_INT, 4}, Element{MPI_DOUBLE, 8}});
    }
};

int random_size(Random& random) {
    const int kind = random.below(20);
    if (kind == 0) return 0;
    if (kind <= 2) return random.between(1, 64);
    if (kind <= 4) return random.between(1, 4'096);
    if (kind <= 6) return random.between(4'096, 32'767);
    if (kind == 7) return random.between(32'767, 32'769);
    if (kind == 8) return random.between(262'144, 1'048'576);
    return random.between(32'768, 262'144);
}

Send random_send(Random& random, bool early, bool posted) {
    if (posted && random.one_in(4))
        return random.pick({Send::irsend, Send::rsend_init, early ? Send::irsend : Send::rsend});
    if (!early && random.one_in(3)) return random.pick({Send::send, Send::send, Send::ssend, Send::bsend});
    return random.pick({Send::isend, Send::isend, Send::isend, Send::isend, Send::issend, Send::ibsend,
                        Send::isend_freed, Send::send_init, Send::send_init, Send::ssend_init,
                        Send::bsend_init});
}

Receive random_receive(Random& random, bool early) {
    if (early || random.one_in(2)) return random.pick({Receive::irecv, Receive::irecv, Receive::recv_init});
    return static_cast<Receive>(static_cast<int>(Receive::late_irecv) + random.below(8));
}

}  // namespace

int Communicator::group_of(int rank) const {
    for (std::size_t i = 0; i < groups.size(); ++i)
        if (std::find(groups[i].begin(), groups[i].end(), rank) != groups[i].end())
            return static_cast<int>(i);
    return -1;
}

int Communicator::rank_of(int rank) const {
    const auto& group = groups[as_size(group_of(rank))];
    return static_cast<int>(std::find(group.begin(), group.end(), rank) - group.begin());
}

const std::vector<int>& Communicator::peers_of(int rank) const {
    const int group = group_of(rank);
    return groups[as_size(inter ? 1 - group : group)];
}

std::vector<int> ranks_from(int first, int end) {
    std::vector<int> ranks;
    for (int i = first; i < end; ++i) ranks.push_back(i);
    return ranks;
}

Communicators::Communicators(Random& random) {
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

void Communicators::free() {
    for (Communicator& one : of_messages)
        if (one.handle != MPI_COMM_NULL) MPI_Comm_free(&one.handle);
    MPI_Comm_free(&ring);
    MPI_Comm_free(&all);
}

Communicator& Communicators::add(bool inter, std::vector<std::vector<int>> groups) {
    of_messages.push_back({MPI_COMM_NULL, inter, std::move(groups)});
    return of_messages.back();
}

bool is_persistent(Send send) {
    return send == Send::send_init || send == Send::ssend_init || send == Send::bsend_init ||
           send == Send::rsend_init;
}

bool is_buffered(Send send) {
    return send == Send::ibsend || send == Send::bsend_init || send == Send::bsend;
}

Round random_round(Random& random, const Communicators& communicators, int number) {
    Round round;
    const Communicator& communicator = random.pick(communicators.of_messages);
    round.communicator = &communicator;
    std::vector<int> members;
    for (const auto& group : communicator.groups) members.insert(members.end(), group.begin(), group.end());
    std::vector<Receives> receives;
    for (int i = 0; i < world_ranks; ++i) receives.emplace_back(random);
    round.ready_barrier = random.one_in(3);
    const bool persistent = random.one_in(2);
    const int count = 1 + random.below(3 + 2 * world_ranks);
    std::map<std::vector<int>, int> classes;
    for (int i = 0; i < count; ++i) {
        Message message{.index = i,
                        .from = random.pick(members),
                        .tag = number * tags_per_round + random.below(3),
                        .sent = Shape(random),
                        .received = Shape(random)};
        message.to = random.pick(communicator.peers_of(message.from));
        const auto& [any_source, any_tag, element] = receives[as_size(message.to)];
        message.elements = message.sent.rounded(random_size(random) / element.size);
        const std::vector<int> key{message.to, any_source ? -1 : message.from, any_tag ? -1 : message.tag};
        if (!classes.contains(key)) {
            classes[key] = static_cast<int>(round.classes.size());
            round.classes.push_back({any_source, any_tag, element, 0, {}});
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
    round.collective = random.one_in(3);
    if (random.one_in(4)) round.blocking_collective = random.below(3);
    if (random.one_in(3)) round.partitions = 1 + random.below(8);
    return round;
}

}  // namespace point_to_point
