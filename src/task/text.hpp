// The text form of lists, for people, files and tests.
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
//   root       if the collective has one
//   bytes      of one block; or chunks, see below. In allgatherv and reduce_scatter, of the average block;
//   optional. Not in other
//              collectives with parts
//   in_place   if the input lies in out
//   op, type   of a reduction: "op sum type int32"; the caller's own function with the bytes of its
//              elements: "op user type opaque:24"
//   ordered    if a reduction combines in rank order
//   hosts      of the ranks, if known: "hosts 0,0,1,1", any number for each host
//   order      in which lists visit the ranks, unless it is host by host in rank order: "order 1,0,3,2"
//   algorithm  that built the lists; optional
// in any order. For collectives with parts, a line for each rank follows, in rank order:
//
//   problem alltoallv ranks 2
//   parts 0 sends 0:0+4 1:4+8 receives 0:0+4 1:4+0
//   parts 1 sends 0:0+0 1:0+2 receives 0:0+8 1:8+2
//
// A block is peer:offset+length in bytes; problem.hpp gives the order of blocks. A rank without sends or
// receives omits the word. Then the lists follow, in rank order; their in and out are the sizes that the
// problem gives that rank. print and parse are inverse to each other.
//
// Lists in chunks serve every size, operator and type: the problem has "chunks" in place of bytes, op and
// type, and every offset and length counts chunks. A block of n elements has chunks of n / chunks elements,
// rounded so that the chunks cover it (task/scaling.hpp). Two optional words limit the bytes of a block:
//
//   problem allreduce ranks 2 chunks 2 min_bytes 1024 max_bytes 65536
//   list 0 in 2 out 2 scratch 2
//     recv 1 scratch[0+1]
//     recv 1 out[1+1]
//     send 1 in[1+1]
//     wait 1 1
//     copy out[0+1] in[0+1]
//     reduce out[0+1] scratch[0+1]
//     ...
//
// A file may have several sets of lists, one after the other, for different problems.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "task/list.hpp"

namespace lapwing {

// An error at a position in the text. Lines and columns count from 1; what() is "LINE:COLUMN: message".
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
std::string print_problem(const ListSet& set);  // its line, with chunks and algorithm; no newline

// Parses a list file with one set: the problem and one list for every rank. Throws ParseError, also for a
// truncated file, an invalid problem, parts that do not match, a missing or repeated rank, a number beyond 64
// bits, a span outside its space, a peer out of range, and an enable task, which only lowering makes. Takes
// time (up to a logarithm) and memory in proportion to the text, whatever numbers the text holds. The checker
// checks all other requirements, for example equal lengths of the two spans of a copy.
ListSet parse(std::string_view text);

// One set of a file, with the lines at which each rank's list and its tasks are.
struct ParsedSet {
    ListSet set;
    std::vector<int> list_lines;
    std::vector<std::vector<int>> task_lines;
};
// Returns the line of a rank's task, by its index in the list; without a task, that of the list.
int line_of(const ParsedSet& parsed, int rank, std::optional<std::size_t> task);
// Parses a list file with one set or several; as parse().
std::vector<ParsedSet> parse_sets(std::string_view text);

}  // namespace lapwing
