// The memory of every rank during the execution of lists; each byte range has its origin as contents.
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
    Contributions& contributions() { return contributions_; }

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
    void set_own(int rank, const Span& span, std::uint64_t offset);
    void move(int source_rank, const Span& source, int target_rank, const Span& target);
    // Returns false if some element of the reduction is not a whole element of an input.
    bool reduce(int rank, const Task& task, std::uint64_t element_bytes);

  private:
    Segments<Content>& space(int rank, const Span& span) {
        return (span.space == Space::out ? out_ : scratch_)[rank];
    }
    // Returns the pieces of `source`, moved to `offset`.
    void read(int rank, const Span& source, std::uint64_t offset, std::vector<Piece>& pieces) const;

    Contributions contributions_;
    std::vector<Segments<Content>> out_;      // by rank
    std::vector<Segments<Content>> scratch_;  // by rank
    std::vector<Piece> pieces_;
    std::vector<Piece> other_pieces_;
    std::vector<Piece> reduced_;
};

}  // namespace lapwing::checker
