// The text form of lists: printed, parsed back, compared in tests, kept in files.
//
//   # comment to the end of the line
//   problem broadcast ranks 2 root 0 bytes 8 algorithm binomial
//   list 0 in 8 out 0 scratch 0
//     send 1 in[0+8]
//   end
//   list 1 in 0 out 8 scratch 0
//     recv 0 out[0+8]
//     wait 0 1
//   end
//
// A span is space[offset+length] in bytes; a span of zero bytes is left out. `problem` names root, bytes,
// in_place, op and type where the collective has them. Lists stand in rank order; their in and out are the
// sizes that the problem gives that rank. print and parse are inverse to each other.
#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"
#include "task/list.hpp"

namespace lapwing {

// Where a text is wrong: lines and columns count from 1; what() reads "LINE:COLUMN: message".
class ParseError : public Error {
  public:
    ParseError(int line, int column, const std::string& message);
    int line() const noexcept { return line_; }
    int column() const noexcept { return column_; }

  private:
    int line_;
    int column_;
};

std::string print(Span span);
std::string print(const Task& task);
std::string print(const Problem& problem);  // without "algorithm"; no newline
std::string print(const List& list);        // "list ... end" with newlines
std::string print(const ListSet& set);

// A whole list file: the problem and one list for every rank. Throws ParseError; also for a file that ends
// too early, a problem that makes no sense, a rank that is missing or doubled, a number beyond 64 bits, a
// span outside its space, a peer that is no rank, an enable task (only lowering makes those). Takes time and
// memory in proportion to the text, whatever the text claims. What else a list must fulfil, as the two spans
// of a copy being of one length, is the checker's to say.
ListSet parse(std::string_view text);

}  // namespace lapwing
