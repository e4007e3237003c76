// Parses list files: the problem and its algorithm, the parts of the ranks, and the lists.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "task/text.hpp"
#include "task/text_scanner.hpp"
#include "task/validation.hpp"

namespace lapwing {
namespace {

using Names = std::vector<std::string>;

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

// Parses the lines that say which blocks each rank sends and receives. Returns the positions of the lines, by
// rank.
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

constexpr std::uint64_t max_chunks = 1 << 20;

Names collective_names() {
    return {
#define LAPWING_COLLECTIVE(name, mpi_name, also, traits) #name,
#include "task/collectives.def"
    };
}

// The words that may follow the collective in the problem line, each at most once, in any order.
// Some belong to lists of one size only, or to lists in chunks only.
enum class Form { any, one_size, chunks };
struct Key {
    const char* name;
    bool (*belongs)(Collective);
    bool (*needed)(Collective);
    Form form = Form::any;
};
bool always(Collective) {
    return true;
}
bool has_bytes(Collective collective) {
    return collective != Collective::barrier && !has_parts(collective);
}
// The average block, if every rank knows all parts.
bool may_have_bytes(Collective collective) {
    return has_bytes(collective) || all_ranks_know_all_parts(collective);
}
bool never(Collective) {
    return false;
}
constexpr Key keys[] = {
    {"ranks", always, always},
    {"root", has_root, has_root},
    {"bytes", may_have_bytes, has_bytes, Form::one_size},
    {"chunks", has_bytes, never, Form::chunks},
    {"min_bytes", has_bytes, never, Form::chunks},
    {"max_bytes", has_bytes, never, Form::chunks},
    {"in_place", may_be_in_place, never},
    {"op", is_reduction, is_reduction, Form::one_size},
    {"type", is_reduction, is_reduction, Form::one_size},
    {"ordered", is_reduction, never},
    {"hosts", always, never},
    {"groups", always, never},
    {"order", always, never},
    {"algorithm", always, never},
};

class ProblemLine {
  public:
    ProblemLine(Scanner& scanner, ListSet& set) : scanner_(scanner), set_(set) {}

    void line(const Word& start) {
        if (start.text != "problem") {
            refuse(start, fmt::format("expected 'problem', not {}", quote(start.text)));
        }
        set_.problem.collective = collective();
        Word seen[std::size(keys)];
        Word word = scanner_.word();
        for (; !word.empty(); word = scanner_.word()) {
            const auto key = std::find_if(std::begin(keys), std::end(keys),
                                          [&](const Key& candidate) { return word.text == candidate.name; });
            if (key == std::end(keys)) refuse_unknown(word, "word", problem_words());
            Word& given = seen[key - std::begin(keys)];
            if (!given.empty()) refuse(word, fmt::format("'{}' is given twice", key->name));
            given = word;
            if (!key->belongs(set_.problem.collective)) {
                refuse(word, fmt::format("{} has no '{}'", name(set_.problem.collective), key->name));
            }
            value_of(word.text);
        }
        const bool in_chunks = chunks_ > 0;
        const Form other_form = in_chunks ? Form::one_size : Form::chunks;
        for (std::size_t i = 0; i < std::size(keys); ++i) {
            const Key& key = keys[i];
            if (!seen[i].empty() && key.form == other_form) {
                refuse(seen[i], in_chunks
                                    ? fmt::format("lists in chunks have no '{}': they serve all", key.name)
                                    : fmt::format("'{}' needs 'chunks'", key.name));
            }
            if (seen[i].empty() && key.form != other_form && key.needed(set_.problem.collective)) {
                refuse(word, fmt::format("'{}' is missing", key.name));
            }
        }
        if (in_chunks) {
            set_.problem.bytes = chunks_;
            set_.chunks = sizes_;
        }
        place();
    }

  private:
    // Ranks are ints. Their number is unknown until the problem line is read.
    static int number_of_ranks(const Word& word, const char* what) {
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
        if (key == "in_place" || key == "ordered") {
            (key == "in_place" ? problem.in_place : problem.ordered) = true;
            return;
        }
        const Word word = scanner_.word();
        if (key == "ranks") {
            problem.ranks = number_of_ranks(word, "ranks");
        } else if (key == "root") {
            problem.root = number_of_ranks(word, "root");
        } else if (key == "bytes") {
            problem.bytes = number(word, "bytes");
        } else if (key == "chunks") {
            chunks_ = number(word, "chunks");
            if (chunks_ == 0 || chunks_ > max_chunks)
                refuse(word, fmt::format("a block has 1 to {} chunks, not {}", max_chunks, chunks_));
        } else if (key == "min_bytes") {
            sizes_.min_bytes = number(word, "min_bytes");
        } else if (key == "max_bytes") {
            sizes_.max_bytes = number(word, "max_bytes");
        } else if (key == "op") {
            problem.op = parse_operator(word);
        } else if (key == "type") {
            type(word);
        } else if (key == "hosts") {
            hosts_at_ = word;
            for_each_number(word, [&](const Word& host) { hosts_.push_back(number(host, "a host")); });
        } else if (key == "groups") {
            groups_of(word);
        } else if (key == "order") {
            order_at_ = word;
            for_each_number(word, [&](const Word& rank) { order_.push_back(number_of_ranks(rank, "rank")); });
        } else {
            set_.algorithm = algorithm(word);
        }
    }

    // "0,0,0,1,1/0,0,1,2,3": a level, and a level inside it
    void groups_of(const Word& word) {
        groups_at_ = word;
        for (std::size_t from = 0, slash = 0; slash != std::string_view::npos; from = slash + 1) {
            slash = word.text.find('/', from);
            std::vector<std::uint64_t>& level = groups_.emplace_back();
            const std::size_t length = slash == std::string_view::npos ? slash : slash - from;
            for_each_number(word.part(from, length),
                            [&](const Word& group) { level.push_back(number(group, "a group")); });
        }
    }

    // "0,0,1,1"
    template <typename Visit>
    static void for_each_number(const Word& word, Visit visit) {
        std::size_t from = 0;
        for (std::size_t comma = 0; comma != std::string_view::npos; from = comma + 1) {
            comma = word.text.find(',', from);
            visit(word.part(from, comma == std::string_view::npos ? comma : comma - from));
        }
    }

    void place() {
        if (hosts_.empty()) {
            if (!order_.empty()) refuse(order_at_, "'order' is for ranks whose 'hosts' are given");
            if (!groups_.empty()) refuse(groups_at_, "'groups' is for ranks whose 'hosts' are given");
            return;
        }
        if (hosts_.size() != static_cast<std::size_t>(set_.problem.ranks)) {
            refuse(hosts_at_, fmt::format("the hosts of {} ranks are given, but the group has {}",
                                          hosts_.size(), set_.problem.ranks));
        }
        for (const std::vector<std::uint64_t>& level : groups_) {
            if (level.size() != hosts_.size()) {
                refuse(groups_at_, fmt::format("the groups of {} ranks are given, but the group has {}",
                                               level.size(), set_.problem.ranks));
            }
        }
        try {
            set_.problem.placement = std::make_shared<Placement>(hosts_, order_, groups_);
        } catch (const Error& error) {
            refuse(order_at_, error.what());
        }
    }

    // "int32", "opaque:24"
    void type(const Word& word) {
        const std::size_t colon = word.text.find(':');
        set_.problem.type = parse_type(word.part(0, colon));
        const bool sized = colon != std::string_view::npos;
        if (set_.problem.type == Type::opaque) {
            if (!sized) refuse(word, "an opaque type needs the bytes of an element, as opaque:24");
            set_.problem.element = number(word.part(colon + 1), "bytes of an element");
        } else if (sized) {
            refuse(word.part(colon),
                   fmt::format("the size of an element of {} is known", name(set_.problem.type)));
        }
    }

    static std::string algorithm(const Word& word) {
        constexpr std::string_view valid =
            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:=./-";
        if (word.empty()) refuse(word, "an algorithm is missing");
        const std::size_t wrong = word.text.find_first_not_of(valid);
        if (wrong != std::string_view::npos) {
            refuse(word.part(wrong), fmt::format("{} is not allowed in an algorithm's name",
                                                 quote(word.text.substr(wrong, 1))));
        }
        return std::string(word.text);
    }

    Scanner& scanner_;
    ListSet& set_;
    std::uint64_t chunks_ = 0;  // of a block; 0: not in chunks
    ChunkSizes sizes_;
    std::vector<std::uint64_t> hosts_;
    std::vector<int> order_;
    std::vector<std::vector<std::uint64_t>> groups_;
    Word hosts_at_;
    Word groups_at_;
    Word order_at_;
};

// Parses the lines before the lists into the set: the problem line, and the parts of all ranks if the
// collective has parts. Validates the problem.
void parse_problem(Scanner& scanner, ListSet& set) {
    const Word start = scanner.word();
    ProblemLine(scanner, set).line(start);
    std::vector<Word> lines;
    if (has_parts(set.problem.collective)) lines = parse_parts(scanner, set.problem);
    try {
        validate(set.problem);
    } catch (const PartsError& error) {
        refuse(lines[static_cast<std::size_t>(error.rank())], error.what());
    } catch (const Error& error) {
        refuse(start, error.what());
    }
}

Names space_names() {
    return {name(Space::in), name(Space::out), name(Space::scratch)};
}

bool only_lowering_makes(Kind kind) {
    return kind == Kind::enable_send || kind == Kind::enable_recv;
}

// What a line inside a list may start with.
Names task_names() {
    Names names{
#define LAPWING_KIND(name, fields) #name,
#include "task/kinds.def"
    };
    std::erase_if(names, [](const std::string& name) { return only_lowering_makes(*find_kind(name)); });
    names.emplace_back("end");
    return names;
}

class Parser {
  public:
    explicit Parser(std::string_view text) : scanner_(text) {}

    std::vector<ParsedSet> file(bool one_set) {
        if (!scanner_.next_line()) refuse(scanner_.word(), "file is empty: 'problem' is missing");
        std::vector<ParsedSet> sets;
        bool more = true;
        while (more) {
            parsed_ = {};
            parse_problem(scanner_, set_);
            // Nothing is allocated by the number of ranks that the file claims, only by the lists it holds.
            more = false;
            while (!more && scanner_.next_line()) {
                more = !one_set && set_.lists.size() == ranks() && next_word().text == "problem";
                if (!more) list();
            }
            if (set_.lists.size() < ranks()) {
                refuse(scanner_.word(), fmt::format("list of rank {} is missing", set_.lists.size()));
            }
            sets.push_back(std::move(parsed_));
        }
        return sets;
    }

  private:
    Word next_word() const {
        Scanner ahead = scanner_;
        return ahead.word();
    }

    std::size_t ranks() const { return static_cast<std::size_t>(set_.problem.ranks); }

    void expect(const char* wanted) {
        const Word word = scanner_.word();
        if (word.empty()) refuse(word, fmt::format("'{}' is missing", wanted));
        if (word.text != wanted) refuse(word, fmt::format("expected '{}', not {}", wanted, quote(word.text)));
    }

    void list() {
        const Word start = scanner_.word();
        if (start.text != "list") {
            if (start.text == "parts" && set_.lists.empty()) {
                refuse(start, has_parts(set_.problem.collective)
                                  ? std::string("too many parts: all ranks have theirs")
                                  : fmt::format("{} has no parts", name(set_.problem.collective)));
            }
            const char* const place =
                set_.lists.size() < ranks() ? "expected 'list', not" : "after the last list:";
            refuse(start, fmt::format("{} {}", place, quote(start.text)));
        }
        const std::size_t next = set_.lists.size();
        const Word rank_word = scanner_.word();
        const std::size_t rank = static_cast<std::size_t>(rank_number(rank_word, "rank", set_.problem.ranks));
        if (rank < next) refuse(rank_word, fmt::format("list of rank {} is given twice", rank));
        if (rank > next) {
            refuse(rank_word, fmt::format("list of rank {} is missing: lists stand in rank order", next));
        }
        List& list = set_.lists.emplace_back();
        parsed_.list_lines.push_back(start.line);
        parsed_.task_lines.emplace_back();
        list.rank = static_cast<int>(rank);
        list.ranks = set_.problem.ranks;
        list.in_bytes = size_of("in", in_bytes(set_.problem, list.rank), list.rank);
        list.out_bytes = size_of("out", out_bytes(set_.problem, list.rank), list.rank);
        list.scratch_bytes = scratch_size();
        scanner_.end_line();
        while (scanner_.next_line()) {
            if (!task(list)) return;
        }
        refuse(scanner_.word(), fmt::format("file ends inside list of rank {}: 'end' is missing", rank));
    }

    std::uint64_t size_of(const char* space, std::uint64_t wanted, int rank) {
        expect(space);
        const Word word = scanner_.word();
        const std::uint64_t bytes = number(word, space);
        if (bytes != wanted) {
            refuse(word, fmt::format("'{}' of rank {} must be {} bytes for this problem, not {}", space, rank,
                                     wanted, bytes));
        }
        return bytes;
    }

    std::uint64_t scratch_size() {
        expect("scratch");
        const Word word = scanner_.word();
        const std::uint64_t bytes = number(word, "scratch");
        if (bytes > std::uint64_t{1} << 62) refuse(word, fmt::format("{} bytes are too many", bytes));
        return bytes;
    }

    // One line of a list; false when it is the list's end.
    bool task(List& list) {
        const Word start = scanner_.word();
        if (start.text == "end") {
            scanner_.end_line();
            return false;
        }
        if (start.text == "list") refuse(start, fmt::format("list of rank {} has no 'end'", list.rank));
        const auto kind = find_kind(start.text);
        if (!kind) refuse_unknown(start, "kind", task_names());
        if (only_lowering_makes(*kind)) {
            refuse(start, fmt::format("{} is not allowed in a list: only lowering makes it", name(*kind)));
        }
        Task& task = list.tasks.emplace_back();
        task.kind = *kind;
        parsed_.task_lines.back().push_back(start.line);
        const unsigned has = fields(*kind);
        if (has & PEER) task.peer = rank_number(scanner_.word(), "peer", set_.problem.ranks);
        if (has & OP && !set_.chunks) {
            task.op = parse_operator(scanner_.word());
            task.type = parse_type(scanner_.word());
        }
        const bool needed = !(has & PEER);
        if (has & TARGET) task.target = span(list, needed);
        if (has & SOURCE) task.source = span(list, needed);
        if (has & COUNT) task.count = number(scanner_.word(), "count");
        scanner_.end_line();
        return true;
    }

    Span span(const List& list, bool needed) {
        const Word word = scanner_.word();
        if (word.empty()) {
            if (needed) refuse(word, "a span is missing");
            return {};
        }
        const std::string_view text = word.text;
        const std::size_t open = text.find('[');
        const std::size_t plus = open == std::string_view::npos ? open : text.find('+', open);
        if (plus == std::string_view::npos || text.back() != ']') {
            refuse(word, fmt::format("expected a span as in[0+8], not {}", quote(text)));
        }
        const Word space_word = word.part(0, open);
        const auto space = find_space(space_word.text);
        if (!space) refuse_unknown(space_word, "space", space_names());
        Span span;
        span.space = *space;
        span.offset = number(word.part(open + 1, plus - open - 1), "offset");
        span.length = number(word.part(plus + 1, text.size() - plus - 2), "length");
        if (span.length == 0) refuse(word, "a span of zero bytes is left out");
        const std::uint64_t bytes = list.bytes(span.space);
        if (span.offset > bytes || span.length > bytes - span.offset) {
            refuse(word, fmt::format("{} is outside its space: {} of rank {} has {} bytes", print(span),
                                     name(span.space), list.rank, bytes));
        }
        return span;
    }

    Scanner scanner_;
    ParsedSet parsed_;
    ListSet& set_ = parsed_.set;
};

}  // namespace

ListSet parse(std::string_view text) {
    return std::move(Parser(text).file(true).front().set);
}

int line_of(const ParsedSet& parsed, int rank, std::optional<std::size_t> task) {
    const auto at = static_cast<std::size_t>(rank);
    return task ? parsed.task_lines[at][*task] : parsed.list_lines[at];
}

std::vector<ParsedSet> parse_sets(std::string_view text) {
    return Parser(text).file(false);
}

}  // namespace lapwing
