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
// A span is space[offset+length] in bytes; a span of zero bytes is left out. The problem line names
//   root       where there is one
//   bytes      of one block; where all ranks know the blocks of all, in allgatherv and reduce_scatter, of the
//              average block, and may be left out; not where blocks are known to their ranks only
//   in_place   when the input stands in out
//   op, type   of a reduction: "op sum type int32"; the caller's own function with the bytes of its
//              elements: "op user type opaque:24"
//   ordered    when a reduction combines in the order of the ranks
//   hosts      of the ranks, where these are known: "hosts 0,0,1,1", any number for each host
//   order      in which lists go through the ranks, where it is not host by host in the order of the ranks:
//              "order 1,0,3,2"
//   algorithm  that made the lists; may be left out
// in any order. Where blocks have several lengths a line for each rank follows, in rank order:
//
//   problem alltoallv ranks 2
//   parts 0 sends 0:0+4 1:4+8 receives 0:0+4 1:4+0
//   parts 1 sends 0:0+0 1:0+2 receives 0:0+8 1:8+2
//
// with a block as peer:offset+length in bytes, in the order that problem.hpp asks for; "sends" or "receives"
// is left out where a rank has none. Then follow the lists, in rank order; their in and out are the sizes
// that the problem gives that rank. print and parse are inverse to each other.
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
std::string print(const Part& part);
std::string print(const Parts& parts);      // "sends 0:0+4 receives 0:0+4"
std::string print(const Problem& problem);  // its line without "algorithm"; no parts, no newline
std::string print(const List& list);        // "list ... end" with newlines
std::string print(const ListSet& set);

// A whole list file: the problem and one list for every rank. Throws ParseError; also for a file that ends
// too early, a problem that makes no sense, parts that do not meet, a rank that is missing or doubled, a
// number beyond 64 bits, a span outside its space, a peer that is no rank, an enable task (only lowering
// makes those). Takes time (but for a logarithm) and memory in proportion to the text, whatever the text
// claims. What else a list must fulfil, as the two spans of a copy being of one length, is the checker's to
// say.
ListSet parse(std::string_view text);

}  // namespace lapwing
