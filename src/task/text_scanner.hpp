// Splits a list file into words with their positions, for the parser.
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

    // Advances to the next line with a word. Returns false at the end of the text.
    bool next_line();
    // Returns the line's next word; at the end of the line, an empty word with its position.
    Word word();
    // Throws ParseError if the line has another word.
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

// Returns the word in quotes for a message: printable, at most 40 characters.
std::string quote(std::string_view text);

// Throws ParseError at the word.
[[noreturn]] void refuse(const Word& at, const std::string& why);

// Parses decimal digits. `what` names the number in messages: "peer". Throws ParseError.
std::uint64_t number(const Word& word, const char* what);

// Throws ParseError that names the nearest valid word, or all valid words.
[[noreturn]] void refuse_unknown(const Word& word, const char* what, const std::vector<std::string>& valid);

// Parses a number below `ranks`; as number().
int rank_number(const Word& word, const char* what, int ranks);

Operator parse_operator(const Word& word);
Type parse_type(const Word& word);

}  // namespace lapwing
