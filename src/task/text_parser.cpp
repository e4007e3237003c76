// The lists of a list file.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "task/text.hpp"
#include "task/text_scanner.hpp"

namespace lapwing {
namespace {

using Names = std::vector<std::string>;

Names space_names() {
    return {name(Space::in), name(Space::out), name(Space::scratch)};
}

bool only_lowering_makes(Kind kind) {
    return kind == Kind::enable_send || kind == Kind::enable_recv;
}

// What a line inside a list may start with.
Names task_names() {
    Names names{
#define LAPWING_KIND(name, fields, meaning) #name,
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
