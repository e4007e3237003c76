// The lines of a list file that say which blocks each rank sends and receives.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "task/text.hpp"
#include "task/text_scanner.hpp"

namespace lapwing {
namespace {

Part parse_part(const Word& word, int ranks) {
    const std::size_t colon = word.text.find(':');
    const std::size_t plus = colon == std::string_view::npos ? colon : word.text.find('+', colon);
    if (plus == std::string_view::npos) {
        refuse(word, fmt::format("expected a block as 1:0+8, not {}", quote(word.text)));
    }
    return {rank_number(word.part(0, colon), "peer", ranks),
            number(word.part(colon + 1, plus - colon - 1), "offset"), number(word.part(plus + 1), "length")};
}

Parts parse_blocks(Scanner& scanner, int ranks) {
    Parts parts;
    std::vector<Part>* row = nullptr;
    bool sends_given = false;
    bool receives_given = false;
    for (Word word = scanner.word(); !word.empty(); word = scanner.word()) {
        const bool sends = word.text == "sends";
        if (sends || word.text == "receives") {
            bool& given = sends ? sends_given : receives_given;
            if (given) refuse(word, fmt::format("'{}' is given twice", word.text));
            given = true;
            row = sends ? &parts.sends : &parts.receives;
        } else if (row == nullptr) {
            refuse_unknown(word, "word", {"sends", "receives"});
        } else {
            row->push_back(parse_part(word, ranks));
        }
    }
    return parts;
}

}  // namespace

std::vector<Word> parse_parts(Scanner& scanner, Problem& problem) {
    std::vector<Word> lines;
    for (int rank = 0; rank < problem.ranks; ++rank) {
        const bool is_line = scanner.next_line();
        const Word start = scanner.word();
        if (!is_line || start.text == "list") {
            refuse(start, fmt::format("parts of rank {} are missing", rank));
        }
        if (start.text != "parts") refuse(start, fmt::format("expected 'parts', not {}", quote(start.text)));
        const Word number = scanner.word();
        const int given = rank_number(number, "rank", problem.ranks);
        if (given < rank) refuse(number, fmt::format("parts of rank {} are given twice", given));
        if (given > rank) {
            refuse(number, fmt::format("parts of rank {} are missing: they stand in rank order", rank));
        }
        problem.parts.push_back(parse_blocks(scanner, problem.ranks));
        lines.push_back(start);
    }
    return lines;
}

}  // namespace lapwing
