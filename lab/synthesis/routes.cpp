#include "synthesis/routes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.hpp"

namespace lapwing::synthesis {
namespace {

// The transfers of all chunks as a graph: which waits for which.
class Timetable {
  public:
    Timetable(const Links& links, const Routes& routes, double bytes)
        : links_(links),
          routes_(routes),
          bytes_(bytes),
          senders_(at(links.ranks)),
          processors_(at(links.ranks), 0),
          in_(at(links.ranks), 0),
          pairs_(at(links.ranks * links.ranks), 0),
          waiting_(2 * routes.chunks.size() * at(links.ranks), 0),
          urgency_(waiting_.size(), -1) {}

    Schedule run() {
        for (int chunk = 0; chunk < static_cast<int>(routes_.chunks.size()); ++chunk) prepare(chunk);
        while (Sender* next = first_sender()) transfer(*next);
        if (!result_.transfers.empty()) result_.mean /= static_cast<double>(result_.transfers.size());
        return std::move(result_);
    }

  private:
    struct Ready {
        double when;
        double urgency;
        int chunk;
        bool up;
        int from;
        int to;
    };
    struct Sender {
        double free = 0;
        double next = never;  // the earliest start of what is ready
        std::vector<Ready> ready;
    };

    const Tree& tree(int chunk) const { return routes_.trees[at(chunk)]; }
    std::size_t key(int chunk, bool down, int rank) const {
        return (2 * at(chunk) + (down ? 1 : 0)) * at(links_.ranks) + at(rank);
    }

    // What follows a transfer down to `rank`, including it.
    double urgency_down(int chunk, int rank) {
        double& value = urgency_[key(chunk, true, rank)];
        if (value >= 0) return value;
        double below = 0;
        const std::vector<int>& down = tree(chunk).down;
        for (int child = 0; child < links_.ranks; ++child)
            if (down[at(child)] == rank) below = std::max(below, urgency_down(chunk, child));
        const int parent = down[at(rank)];
        return value = below + (parent < 0 ? 0 : links_.seconds(parent, rank, bytes_));
    }
    double urgency_up(int chunk, int rank) {
        double& value = urgency_[key(chunk, false, rank)];
        if (value >= 0) return value;
        const int parent = tree(chunk).up[at(rank)];
        if (parent < 0) return value = urgency_down(chunk, rank);
        return value = links_.seconds(rank, parent, bytes_) + urgency_up(chunk, parent);
    }

    void prepare(int chunk) {
        const Tree& one = tree(chunk);
        if (one.up.empty()) {
            distribute(chunk, one.root, 0);
            return;
        }
        for (int rank = 0; rank < links_.ranks; ++rank)
            if (one.up[at(rank)] >= 0) ++waiting_[key(chunk, false, one.up[at(rank)])];
        for (int rank = 0; rank < links_.ranks; ++rank)
            if (waiting_[key(chunk, false, rank)] == 0) combined(chunk, rank, 0);
    }

    // The rank has all contributions of those below it.
    void combined(int chunk, int rank, double when) {
        const Tree& one = tree(chunk);
        if (rank == one.root) {
            distribute(chunk, rank, when);
        } else {
            offer({when, urgency_up(chunk, rank) + preference(chunk, false, rank), chunk, true, rank,
                   one.up[at(rank)]});
        }
    }
    void distribute(int chunk, int rank, double when) {
        const std::vector<int>& down = tree(chunk).down;
        for (int child = 0; child < links_.ranks; ++child) {
            if (down[at(child)] != rank) continue;
            offer({when, urgency_down(chunk, child) + preference(chunk, true, child), chunk, false, rank,
                   child});
        }
    }
    double preference(int chunk, bool down, int rank) const {
        return routes_.preferences.empty() ? 0 : routes_.preferences[key(chunk, down, rank)];
    }
    void offer(const Ready& ready) {
        Sender& sender = senders_[at(ready.from)];
        sender.ready.push_back(ready);
        sender.next = std::min(sender.next, std::max(sender.free, ready.when));
    }

    Sender* first_sender() {
        Sender* first = nullptr;
        for (Sender& sender : senders_)
            if (sender.next < never && (first == nullptr || sender.next < first->next)) first = &sender;
        return first;
    }

    void transfer(Sender& sender) {
        const double now = sender.next;
        auto best = sender.ready.end();
        for (auto one = sender.ready.begin(); one != sender.ready.end(); ++one) {
            if (one->when > now) continue;
            if (best == sender.ready.end() || one->urgency > best->urgency) best = one;
        }
        const Ready chosen = *best;
        *best = sender.ready.back();
        sender.ready.pop_back();
        const double wire = bytes_ * links_.per_byte;
        // Cut-through: each link is busy for the bytes at its own rate.
        const double begin = now + links_.task;
        sender.free = now + std::max(links_.task, wire * links_.port(chosen.from));
        double& pair = pairs_[at(chosen.from * links_.ranks + chosen.to)];
        const double on_pair = std::max(begin, pair);
        pair = on_pair + wire * links_.pair(chosen.from, chosen.to);
        double& in = in_[at(chosen.to)];
        const double arriving = std::max(on_pair + links_.latency, in);
        in = arriving + wire * links_.port(chosen.to);
        const double arrival =
            std::max({in, pair + links_.latency, begin + wire * links_.port(chosen.from) + links_.latency});
        sender.next = never;
        for (const Ready& one : sender.ready)
            sender.next = std::min(sender.next, std::max(sender.free, one.when));
        result_.transfers.push_back({chosen.chunk, chosen.up, chosen.from, chosen.to, now, arrival});
        result_.mean += arrival;
        double& processor = processors_[at(chosen.to)];
        const double received = processor = std::max(arrival, processor) + links_.task;
        result_.seconds = std::max(result_.seconds, received);
        if (!chosen.up) {
            distribute(chosen.chunk, chosen.to, received);
            return;
        }
        double& last = last_of(chosen.chunk, chosen.to);
        last = std::max(last, received);
        if (--waiting_[key(chosen.chunk, false, chosen.to)] == 0) combined(chosen.chunk, chosen.to, last);
    }

    double& last_of(int chunk, int rank) {
        if (lasts_.empty()) lasts_.resize(routes_.chunks.size() * at(links_.ranks), 0);
        return lasts_[at(chunk * links_.ranks + rank)];
    }

    const Links& links_;
    const Routes& routes_;
    double bytes_;
    std::vector<Sender> senders_;
    std::vector<double> processors_;  // seconds at which the receiving processor is free
    std::vector<double> in_;          // seconds at which the receiving port is free
    std::vector<double> pairs_;       // the same of the links of pairs
    std::vector<int> waiting_;        // contributions that have not arrived
    std::vector<double> urgency_;
    std::vector<double> lasts_;
    Schedule result_;
};

}  // namespace

bool Links::joined(int from, int to) const {
    return pair(from, to) < never;
}

double Links::way(int from, int to) const {
    return std::max({port(from), pair(from, to), port(to)});
}

std::optional<int> unreachable_rank(const Links& links) {
    std::vector<int> reached = {0};
    std::vector<char> known(at(links.ranks), 0);
    known[0] = 1;
    for (std::size_t i = 0; i < reached.size(); ++i) {
        for (int rank = 0; rank < links.ranks; ++rank) {
            // A result must be able to go both ways.
            if (known[at(rank)] != 0 || !links.joined(reached[i], rank) || !links.joined(rank, reached[i]))
                continue;
            known[at(rank)] = 1;
            reached.push_back(rank);
        }
    }
    const auto missing = std::find(known.begin(), known.end(), 0);
    if (missing == known.end()) return std::nullopt;
    return static_cast<int>(missing - known.begin());
}

void require_connected(const Links& links) {
    if (const std::optional<int> rank = unreachable_rank(links)) {
        throw Error(ErrorCode::unsupported,
                    fmt::format("no path of links connects ranks 0 and {}: no lists exist", *rank));
    }
}

bool can_synthesize(Collective collective) {
    switch (collective) {
        case Collective::broadcast:
        case Collective::gather:
        case Collective::scatter:
        case Collective::allgather:
        case Collective::alltoall:
        case Collective::reduce:
        case Collective::allreduce:
        case Collective::reduce_scatter_block:
            return true;
        default:
            return false;
    }
}

Routes routes_of(const Problem& problem, int pieces) {
    Routes routes;
    routes.pieces = pieces;
    const int ranks = problem.ranks;
    const bool reduced = is_reduction(problem.collective);
    const auto only = [&](int rank) {
        std::vector<char> needed(at(ranks), 0);
        needed[at(rank)] = 1;
        return needed;
    };
    const std::vector<char> all(at(ranks), 1);
    const auto add = [&](int block, int root, const std::vector<char>& needed) {
        for (int piece = 0; piece < pieces; ++piece)
            routes.chunks.push_back({block, piece, root, reduced, needed});
    };
    switch (problem.collective) {
        case Collective::broadcast:
            add(0, problem.root, all);
            break;
        case Collective::reduce:
            add(0, problem.root, only(problem.root));
            break;
        case Collective::allreduce:
            add(0, -1, all);
            break;
        case Collective::alltoall:
            // The block is that of the sender and of the receiver.
            for (int from = 0; from < ranks; ++from)
                for (int to = 0; to < ranks; ++to)
                    if (from != to) add(from * ranks + to, from, only(to));
            break;
        default:
            for (int rank = 0; rank < ranks; ++rank) {
                switch (problem.collective) {
                    case Collective::allgather:
                        add(rank, rank, all);
                        break;
                    case Collective::gather:
                        if (rank != problem.root) add(rank, rank, only(problem.root));
                        break;
                    case Collective::scatter:
                        if (rank != problem.root) add(rank, problem.root, only(rank));
                        break;
                    default:  // reduce_scatter_block
                        add(rank, rank, only(rank));
                }
            }
    }
    routes.preferences.assign(2 * routes.chunks.size() * at(ranks), 0);
    return routes;
}

Schedule schedule(const Links& links, const Routes& routes, double bytes) {
    return Timetable(links, routes, bytes).run();
}

namespace {

// Seconds until every rank has heard of one, if each that has sends on as fast as its processor can (Karp et
// al. 1993, "Optimal broadcast and summation in the LogP model").
double spread(const Links& links) {
    std::multiset<double> free = {0};  // of the ranks that have heard: when each can send
    double last = 0;
    for (int rank = 1; rank < links.ranks; ++rank) {
        const double now = *free.begin();
        free.erase(free.begin());
        free.insert(now + links.task);
        free.insert(now + links.message());
        last = std::max(last, now + links.message());
    }
    return last;
}

}  // namespace

double lower_bound(const Links& links, const Problem& problem, double bytes) {
    const int ranks = problem.ranks;
    if (ranks < 2) return 0;
    // The blocks that must pass the port of each rank, and all that must be sent.
    std::vector<double> in(at(ranks), 0);
    std::vector<double> out(at(ranks), 0);
    double sent = 0;
    for (const Chunk& chunk : routes_of(problem, 1).chunks) {
        const auto needing = std::count(chunk.needed.begin(), chunk.needed.end(), 1);
        const bool distributed = needing > 1 || chunk.root < 0 || chunk.needed[at(chunk.root)] == 0;
        for (int rank = 0; rank < ranks; ++rank) {
            const bool root = rank == chunk.root;
            if (chunk.reduced) (root ? in : out)[at(rank)] += 1;
            if (root && distributed) out[at(rank)] += 1;
            if (!root && chunk.needed[at(rank)] != 0) in[at(rank)] += 1;
        }
        if (chunk.reduced) sent += ranks - 1;
        if (needing == ranks) sent += ranks - 1;
    }
    double slowest = 0;
    double rates = 0;
    for (int rank = 0; rank < ranks; ++rank) {
        slowest = std::max(slowest, std::max(in[at(rank)], out[at(rank)]) * links.port(rank));
        rates += 1 / links.port(rank);
    }
    const double bytes_bound = bytes * links.per_byte * std::max(slowest, sent / rates) + links.message();
    return std::max(bytes_bound,
                    problem.collective == Collective::alltoall ? links.message() : spread(links));
}

}  // namespace lapwing::synthesis
