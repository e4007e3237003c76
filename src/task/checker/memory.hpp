// The memory of every rank as the lists leave it, where each byte range is known by where it came from.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "task/checker/contributions.hpp"
#include "task/checker/segments.hpp"
#include "task/list.hpp"

namespace lapwing::checker {

class Memory {
  public:
    using Piece = Segments<Content>::Segment;

    explicit Memory(int ranks) : contributions_(ranks), out_(ranks), scratch_(ranks) {}

    const Contributions& contributions() const { return contributions_; }

    // The pieces of one span from low to high, as visit(piece) until it says false. Bytes that were never
    // written have none.
    template <typename Visit>
    void visit(int rank, const Span& span, Visit visit) const {
        if (span.length == 0) return;
        if (span.space == Space::in) {
            visit(Piece{span.offset, span.end(), {static_cast<std::uint32_t>(rank), 0}});
        } else {
            (span.space == Space::out ? out_ : scratch_)[rank].visit(span.offset, span.end(), visit);
        }
    }

    // Says that the span holds bytes of in of its own rank from `offset` on.
    void set_own(int rank, const Span& span, std::uint64_t offset);
    void move(int source_rank, const Span& source, int target_rank, const Span& target);
    // False when somewhere an element of the reduction is no whole element of in.
    bool reduce(int rank, const Task& task, std::uint64_t element_bytes);

  private:
    Segments<Content>& space(int rank, const Span& span) {
        return (span.space == Space::out ? out_ : scratch_)[rank];
    }
    // The pieces of `source` as they stand once they are moved to `offset`.
    void read(int rank, const Span& source, std::uint64_t offset, std::vector<Piece>& pieces) const;

    Contributions contributions_;
    std::vector<Segments<Content>> out_;      // by rank
    std::vector<Segments<Content>> scratch_;  // by rank
    std::vector<Piece> pieces_;
    std::vector<Piece> other_pieces_;
    std::vector<Piece> reduced_;
};

}  // namespace lapwing::checker
