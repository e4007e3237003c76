// A list file as words with their places: what the parser reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "task/list.hpp"

namespace lapwing {

// A run of characters without blanks. Lines and columns count from 1, columns in bytes.
struct Word {
    std::string_view text;
    int line = 1;
    int column = 1;

    bool empty() const { return text.empty(); }
    // The part that starts `from` characters in.
    Word part(std::size_t from, std::size_t length = std::string_view::npos) const {
        return {text.substr(from, length), line, column + static_cast<int>(from)};
    }
};

class Scanner {
  public:
    explicit Scanner(std::string_view text) : text_(text) {}

    // Goes to the next line that holds a word. False at the end of the text.
    bool next_line();
    // The line's next word; empty, but with its place, when there is none.
    Word word();
    // Throws ParseError when the line holds another word.
    void end_line();

  private:
    void skip_blanks();
    void skip_line();

    std::string_view text_;
    std::size_t position_ = 0;
    std::size_t line_start_ = 0;
    int line_ = 1;
    bool started_ = false;
};

// The word in quotes for a message: printable and short, whatever it holds.
std::string quote(std::string_view text);

// Throws ParseError at the word.
[[noreturn]] void refuse(const Word& at, const std::string& why);

// Decimal digits only. Throws ParseError that names what the number is for, as "peer".
std::uint64_t number(const Word& word, const char* what);

// Throws ParseError that names the nearest valid word, or all of them.
[[noreturn]] void refuse_unknown(const Word& word, const char* what, const std::vector<std::string>& valid);

// A number below `ranks`. Throws ParseError that names what the rank is for.
int rank_number(const Word& word, const char* what, int ranks);

Operator parse_operator(const Word& word);
Type parse_type(const Word& word);

// What stands before the lists of a file: the problem line, into the set's problem and algorithm
// (text_problem.cpp), and the parts of all ranks where the collective has them (text_parts.cpp). The problem
// is valid then.
void parse_problem(Scanner& scanner, ListSet& set);
// Back come the places of the lines, by rank.
std::vector<Word> parse_parts(Scanner& scanner, Problem& problem);

}  // namespace lapwing
