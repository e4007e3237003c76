// The first line of a list file: the problem, and the algorithm that built the lists.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "task/text.hpp"
#include "task/text_scanner.hpp"

namespace lapwing {
namespace {

using Names = std::vector<std::string>;

Names collective_names() {
    return {
#define LAPWING_COLLECTIVE(name, mpi_name, rooted) #name,
#include "task/collectives.def"
    };
}

// The words that may follow the collective in the problem line, each at most once, in any order.
struct Key {
    const char* name;
    bool (*belongs)(Collective);
    bool needed;  // where it belongs
};
constexpr Key keys[] = {
    {"ranks", [](Collective) { return true; }, true},
    {"root", [](Collective collective) { return has_root(collective); }, true},
    {"bytes", [](Collective collective) { return collective != Collective::barrier; }, true},
    {"in_place", [](Collective collective) { return collective == Collective::gather; }, false},
    {"op", [](Collective collective) { return is_reduction(collective); }, true},
    {"type", [](Collective collective) { return is_reduction(collective); }, true},
    {"algorithm", [](Collective) { return true; }, false},
};

class ProblemLine {
  public:
    ProblemLine(Scanner& scanner, ListSet& set) : scanner_(scanner), set_(set) {}

    void line() {
        const Word start = scanner_.word();
        if (start.text != "problem") {
            refuse(start, fmt::format("expected 'problem', not {}", quote(start.text)));
        }
        set_.problem.collective = collective();
        bool seen[std::size(keys)] = {};
        Word word = scanner_.word();
        for (; !word.empty(); word = scanner_.word()) {
            const auto key = std::find_if(std::begin(keys), std::end(keys),
                                          [&](const Key& candidate) { return word.text == candidate.name; });
            if (key == std::end(keys)) refuse_unknown(word, "word", problem_words());
            bool& given = seen[key - std::begin(keys)];
            if (given) refuse(word, fmt::format("'{}' is given twice", key->name));
            given = true;
            if (!key->belongs(set_.problem.collective)) {
                refuse(word, fmt::format("{} has no '{}'", name(set_.problem.collective), key->name));
            }
            value_of(word.text);
        }
        for (std::size_t i = 0; i < std::size(keys); ++i) {
            if (keys[i].needed && !seen[i] && keys[i].belongs(set_.problem.collective)) {
                refuse(word, fmt::format("'{}' is missing", keys[i].name));
            }
        }
        try {
            validate(set_.problem);
        } catch (const Error& error) {
            refuse(start, error.what());
        }
    }

  private:
    // Ranks are ints; how many there are is not known until the problem line is read.
    static int rank_number(const Word& word, const char* what) {
        const std::uint64_t value = number(word, what);
        if (value > static_cast<std::uint64_t>(std::numeric_limits<int>::max())) {
            refuse(word, fmt::format("{} {} is too large", what, value));
        }
        return static_cast<int>(value);
    }

    Collective collective() {
        const Word word = scanner_.word();
        const auto found = find_collective(word.text);
        if (!found) refuse_unknown(word, "collective", collective_names());
        if (word.text != name(*found)) {
            refuse(word,
                   fmt::format("unknown collective {}; did you mean '{}'?", quote(word.text), name(*found)));
        }
        return *found;
    }

    Names problem_words() const {
        Names words;
        for (const Key& key : keys) {
            if (key.belongs(set_.problem.collective)) words.emplace_back(key.name);
        }
        return words;
    }

    void value_of(std::string_view key) {
        Problem& problem = set_.problem;
        if (key == "in_place") {
            problem.in_place = true;
            return;
        }
        const Word word = scanner_.word();
        if (key == "ranks") {
            problem.ranks = rank_number(word, "ranks");
        } else if (key == "root") {
            problem.root = rank_number(word, "root");
        } else if (key == "bytes") {
            problem.bytes = number(word, "bytes");
        } else if (key == "op") {
            problem.op = parse_operator(word);
        } else if (key == "type") {
            problem.type = parse_type(word);
        } else {
            set_.algorithm = algorithm(word);
        }
    }

    static std::string algorithm(const Word& word) {
        constexpr std::string_view valid =
            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:=";
        if (word.empty()) refuse(word, "an algorithm is missing");
        const std::size_t wrong = word.text.find_first_not_of(valid);
        if (wrong != std::string_view::npos) {
            refuse(word.part(wrong),
                   fmt::format("{} has no place in an algorithm's name", quote(word.text.substr(wrong, 1))));
        }
        return std::string(word.text);
    }

    Scanner& scanner_;
    ListSet& set_;
};

}  // namespace

void parse_problem_line(Scanner& scanner, ListSet& set) {
    ProblemLine(scanner, set).line();
}

}  // namespace lapwing
