// Rule provenance of the collectives that move bytes: executes the lists on the origins of bytes.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "task/checker/rules.hpp"
#include "task/checker/segments.hpp"
#include "task/list.hpp"
#include "task/result.hpp"
#include "task/text.hpp"

namespace lapwing::checker {
namespace {

// The origin of the contents of a byte range: the input of one rank, or a reduction of several. The byte at
// offset x of a space holds the byte at x + shift of the input of the rank or ranks `what`.
struct Content {
    std::uint32_t what = 0;
    std::int64_t shift = 0;  // of the first contribution

    bool operator==(const Content&) const = default;
};

// Assigns a number to every combination of contributions. Numbers below `ranks` are the unchanged bytes of
// that rank; all others are a reduction of two numbers.
class Contributions {
  public:
    explicit Contributions(int ranks) : ranks_(static_cast<std::uint32_t>(ranks)) {}

    bool reduced(std::uint32_t what) const { return what >= ranks_; }

    Content combine(const Content& source, const Content& target) {
        const Reduction reduction{source.what, target.what, target.shift - source.shift};
        const auto next = static_cast<std::uint32_t>(ranks_ + reductions_.size());
        const auto [place, added] = numbers_.try_emplace(reduction, next);
        if (added) reductions_.push_back(reduction);
        return {place->second, source.shift};
    }

    // Calls visit(rank, shift) for each contribution, in the order of the operands, until it returns false. A
    // number may represent too many contributions to visit: visit() must stop at the second of a rank.
    template <typename Visit>
    void visit(const Content& content, Visit visit) const {
        std::vector<Content> open{content};
        while (!open.empty()) {
            const Content top = open.back();
            open.pop_back();
            if (!reduced(top.what)) {
                if (!visit(static_cast<int>(top.what), top.shift)) return;
                continue;
            }
            const Reduction& reduction = reductions_[top.what - ranks_];
            open.push_back({reduction.target, top.shift + reduction.distance});
            open.push_back({reduction.source, top.shift});
        }
    }

  private:
    struct Reduction {
        std::uint32_t source;
        std::uint32_t target;
        std::int64_t distance;  // from the source's shift to the target's

        bool operator==(const Reduction&) const = default;
    };
    struct Hash {
        std::size_t operator()(const Reduction& reduction) const {
            const std::uint64_t operands = (std::uint64_t{reduction.source} << 32) | reduction.target;
            return std::hash<std::uint64_t>{}(
                (operands ^ static_cast<std::uint64_t>(reduction.distance) << 7) * 0x9e3779b97f4a7c15U);
        }
    };

    std::uint32_t ranks_;
    std::vector<Reduction> reductions_;
    std::unordered_map<Reduction, std::uint32_t, Hash> numbers_;
};

// The memory of every rank during the execution of lists; each byte range has its origin as contents.
class Memory {
  public:
    using Piece = Segments<Content>::Segment;

    explicit Memory(int ranks) : contributions_(ranks), out_(ranks), scratch_(ranks) {}

    const Contributions& contributions() const { return contributions_; }

    // Calls visit(piece) for the pieces of a span in ascending order, until it returns false. Bytes that were
    // never written belong to no piece.
    template <typename Visit>
    void visit(int rank, const Span& span, Visit visit) const {
        if (span.length == 0) return;
        if (span.space == Space::in) {
            visit(Piece{span.offset, span.end(), {static_cast<std::uint32_t>(rank), 0}});
        } else {
            (span.space == Space::out ? out_ : scratch_)[rank].visit(span.offset, span.end(), visit);
        }
    }

    // Sets the contents of the span to the input of its own rank from `offset` on.
    void set_own(int rank, const Span& span, std::uint64_t offset) {
        const auto shift = static_cast<std::int64_t>(offset) - static_cast<std::int64_t>(span.offset);
        space(rank, span).assign(span.offset, span.end(), {static_cast<std::uint32_t>(rank), shift});
    }
    void move(int source_rank, const Span& source, int target_rank, const Span& target) {
        read(source_rank, source, target.offset, pieces_);
        space(target_rank, target).replace(target.offset, target.end(), pieces_);
    }
    // Returns false if some element of the reduction is not a whole element of an input.
    bool reduce(int rank, const Task& task, std::uint64_t element_bytes) {
        const Span& target = task.target;
        read(rank, task.source, target.offset, pieces_);
        read(rank, target, target.offset, other_pieces_);
        const auto size = static_cast<std::int64_t>(element_bytes);
        const auto whole = [&](const Piece& piece) {
            return (static_cast<std::int64_t>(target.offset) + piece.value.shift) % size == 0;
        };
        if (!std::all_of(pieces_.begin(), pieces_.end(), whole)) return false;
        if (!std::all_of(other_pieces_.begin(), other_pieces_.end(), whole)) return false;

        // Where either of the two was never written, the result is not, either.
        reduced_.clear();
        auto a = pieces_.begin();
        auto b = other_pieces_.begin();
        while (a != pieces_.end() && b != other_pieces_.end()) {
            const std::uint64_t offset = std::max(a->offset, b->offset);
            const std::uint64_t end = std::min(a->end, b->end);
            if (offset < end) reduced_.push_back({offset, end, contributions_.combine(a->value, b->value)});
            const bool a_first = a->end <= b->end;
            const bool b_first = b->end <= a->end;
            if (a_first) ++a;
            if (b_first) ++b;
        }
        space(rank, target).replace(target.offset, target.end(), reduced_);
        return true;
    }

  private:
    Segments<Content>& space(int rank, const Span& span) {
        return (span.space == Space::out ? out_ : scratch_)[rank];
    }
    // Returns the pieces of `source`, moved to `offset`.
    void read(int rank, const Span& source, std::uint64_t offset, std::vector<Piece>& pieces) const {
        pieces.clear();
        // Offsets wrap around on the way down, as unsigned numbers may.
        const std::uint64_t up = offset - source.offset;
        visit(rank, source, [&](const Piece& piece) {
            pieces.push_back({piece.offset + up,
                              piece.end + up,
                              {piece.value.what, piece.value.shift - static_cast<std::int64_t>(up)}});
            return true;
        });
    }

    Contributions contributions_;
    std::vector<Segments<Content>> out_;      // by rank
    std::vector<Segments<Content>> scratch_;  // by rank
    std::vector<Piece> pieces_;
    std::vector<Piece> other_pieces_;
    std::vector<Piece> reduced_;
};

class Bytes {
  public:
    Bytes(const Problem& problem, std::span<const List> lists, const Traffic& traffic, Findings& findings)
        : problem_(problem),
          lists_(lists),
          traffic_(traffic),
          findings_(findings),
          memory_(problem.ranks),
          received_(traffic.size(), 0),
          times_(problem.ranks, 0) {
        for (int rank = 0; problem.in_place && rank < problem.ranks; ++rank) {
            const Span own = whole_input(problem, rank);
            if (own.space == Space::out && own.length > 0) memory_.set_own(rank, own, 0);
        }
    }

    // A send's source does not change until the end of the list (rule hazard). The wait that completes the
    // receive can therefore read it.
    void run(std::span<const Burst> order) {
        for (const Burst& burst : order) {
            for (TaskIndex i = burst.begin; i < burst.end; ++i) {
                const Task& task = lists_[burst.rank].tasks[i];
                if (task.kind == Kind::wait) {
                    receive(burst.rank, traffic_.pair_of(burst.rank, i), task.count);
                } else if (task.kind == Kind::copy) {
                    memory_.move(burst.rank, task.source, burst.rank, task.target);
                } else if (task.kind == Kind::reduce &&
                           !memory_.reduce(burst.rank, task, problem_.element_bytes())) {
                    findings_.add(Rule::provenance, burst.rank, i,
                                  fmt::format("its elements of {} are pieced together from parts of elements",
                                              name(task.type)));
                }
            }
        }
    }

    // Compares the rank's out with the result, and reports the first difference.
    void check_out(int rank) {
        for (const Result& result : results(problem_, rank)) {
            if (result.first == result.last && is_block(rank, result)) continue;
            if (!check_result(rank, result)) return;
        }
    }

  private:
    using Piece = Memory::Piece;

    void receive(int rank, PairIndex index, std::uint64_t count) {
        const Pair& pair = traffic_[index];
        for (; count > 0; --count) {
            const std::uint32_t n = received_[index]++;
            memory_.move(pair.sender, lists_[pair.sender].tasks[traffic_.send(pair, n)].source, rank,
                         lists_[rank].tasks[traffic_.recv(pair, n)].target);
        }
    }

    // Returns false after it has reported a violation.
    bool check_result(int rank, const Result& result) {
        const Span& span = result.out;
        std::uint64_t reached = span.offset;
        bool right = true;
        memory_.visit(rank, span, [&](const Piece& piece) {
            if (piece.offset != reached) return false;
            right = check_contributions(rank, piece, result);
            reached = piece.end;
            return right;
        });
        if (right && reached != span.end()) {
            std::uint64_t end = span.end();  // of the bytes that were never written
            memory_.visit(rank, span.part(reached - span.offset, span.end() - reached),
                          [&](const Piece& piece) {
                              end = piece.offset;
                              return false;
                          });
            const Span missing{Space::out, reached, end - reached};
            report(rank, missing,
                   fmt::format("{} {}", print(missing),
                               last_writer(rank, reached) ? "holds bytes that were never written"
                                                          : "was never written"));
            right = false;
        }
        return right;
    }

    // The common case of bytes that are only moved: returns whether there is one piece, and it is right.
    bool is_block(int rank, const Result& result) const {
        const Span& span = result.out;
        const Content right{static_cast<std::uint32_t>(result.first), shift(span, result.offset)};
        bool is = false;
        memory_.visit(rank, span, [&](const Piece& piece) {
            is = piece.offset == span.offset && piece.end == span.end() && piece.value == right;
            return false;
        });
        return is;
    }

    // Checks that every rank of the result contributes once, with the same byte of its input, and in rank
    // order if the problem is ordered.
    bool check_contributions(int rank, const Piece& piece, const Result& result) {
        const Span span{Space::out, piece.offset, piece.end - piece.offset};
        const std::int64_t right = shift(result.out, result.offset);
        std::string wrong;
        if (result.first == result.last && !memory_.contributions().reduced(piece.value.what)) {
            const Content wanted{static_cast<std::uint32_t>(result.first), right};
            if (piece.value == wanted) return true;
            report(rank, span,
                   fmt::format("{} holds {}, must hold {}", print(span), describe(piece, piece.value),
                               describe(piece, wanted)));
            return false;
        }
        // Ranks that share a result have equal contents. Each is visited once.
        const std::tuple content(piece.value.what, piece.value.shift - right, result.first, result.last);
        if (right_contents_.contains(content)) return true;
        times_.assign(times_.size(), 0);
        int ranks = 0;
        int last = -1;
        memory_.contributions().visit(piece.value, [&](int from, std::int64_t shift) {
            if (shift != right) {
                wrong = fmt::format("{} holds {}, must hold {}", print(span),
                                    describe(piece, {static_cast<std::uint32_t>(from), shift}),
                                    describe(piece, {static_cast<std::uint32_t>(from), right}));
            } else if (from < result.first || from > result.last) {
                wrong = fmt::format("the contribution of rank {} does not belong in {}", from, print(span));
            } else if (++times_[from] > 1) {
                wrong = fmt::format("the contribution of rank {} counts twice in {}", from, print(span));
            } else if (problem_.ordered && from < last) {
                wrong = fmt::format(
                    "the contribution of rank {} follows that of rank {} in {}, and the operator does not "
                    "commute",
                    from, last, print(span));
            } else {
                ++ranks;
                last = from;
            }
            return wrong.empty();
        });
        for (int from = result.first;
             wrong.empty() && ranks < result.last - result.first + 1 && from <= result.last; ++from) {
            if (times_[from] == 0) {
                wrong = fmt::format("the contribution of rank {} is lost in {}", from, print(span));
            }
        }
        if (!wrong.empty()) {
            report(rank, span, wrong);
            return false;
        }
        right_contents_.insert(content);
        return true;
    }

    static std::int64_t shift(const Span& span, std::uint64_t offset) {
        return static_cast<std::int64_t>(offset) - static_cast<std::int64_t>(span.offset);
    }

    std::string describe(const Piece& piece, const Content& content) const {
        const auto from = static_cast<int>(content.what);
        const std::uint64_t offset = piece.offset + static_cast<std::uint64_t>(content.shift);
        const std::uint64_t length = piece.end - piece.offset;
        const Span stood = input(problem_, from, offset, length);
        return fmt::format("{} of rank {}{}", print(stood), from,
                           stood.space == Space::out ? " as it was at the start" : "");
    }

    // A receive's bytes arrive after its posting, but no other task may write there in between.
    std::optional<std::size_t> last_writer(int rank, std::uint64_t offset) const {
        const std::vector<Task>& tasks = lists_[rank].tasks;
        for (std::size_t i = tasks.size(); i-- > 0;) {
            if ((fields(tasks[i].kind) & TARGET) != 0 && tasks[i].target.overlaps({Space::out, offset, 1})) {
                return i;
            }
        }
        return std::nullopt;
    }

    void report(int rank, const Span& wrong, std::string why) {
        findings_.add(Rule::provenance, rank, last_writer(rank, wrong.offset), std::move(why));
    }

    const Problem& problem_;
    std::span<const List> lists_;
    const Traffic& traffic_;
    Findings& findings_;
    Memory memory_;
    std::vector<std::uint32_t> received_;  // by pair
    std::vector<std::uint32_t> times_;     // by rank: how often it contributed
    // Reductions that are a right result: the number, its shift from the result's, first and last rank.
    std::set<std::tuple<std::uint32_t, std::int64_t, int, int>> right_contents_;
};

}  // namespace

void check_bytes(const Problem& problem, std::span<const List> lists, const Traffic& traffic,
                 std::span<const Burst> order, Findings& findings) {
    Bytes bytes(problem, lists, traffic, findings);
    bytes.run(order);
    if (!findings.none()) return;
    for (int rank = 0; rank < problem.ranks && !findings.full(); ++rank) bytes.check_out(rank);
}

}  // namespace lapwing::checker
