#include "task/text_scanner.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>

#include "base/nearest_name.hpp"
#include "task/text.hpp"

namespace lapwing {
namespace {

bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

std::vector<std::string> operator_names() {
    return {
#define LAPWING_OPERATOR(name, groups, expression) #name,
#include "task/operators.def"
        "user",
    };
}

std::vector<std::string> type_names() {
    return {
#define LAPWING_TYPE(name, type, group) #name,
#include "task/types.def"
        "opaque",
    };
}

}  // namespace

void Scanner::skip_blanks() {
    while (position_ < text_.size() && is_blank(text_[position_])) ++position_;
}

void Scanner::skip_line() {
    const std::size_t newline = text_.find('\n', position_);
    if (newline == std::string_view::npos) {
        position_ = text_.size();
        return;
    }
    position_ = line_start_ = newline + 1;
    ++line_;
}

bool Scanner::next_line() {
    if (started_) skip_line();
    started_ = true;
    for (;;) {
        skip_blanks();
        if (position_ == text_.size()) return false;
        if (text_[position_] != '#' && text_[position_] != '\n') return true;
        skip_line();
    }
}

Word Scanner::word() {
    skip_blanks();
    const std::size_t start = position_;
    while (position_ < text_.size() && !is_blank(text_[position_]) && text_[position_] != '\n' &&
           text_[position_] != '#') {
        ++position_;
    }
    return {text_.substr(start, position_ - start), line_, static_cast<int>(start - line_start_) + 1};
}

void Scanner::end_line() {
    const Word next = word();
    if (!next.empty()) refuse(next, fmt::format("unexpected {} at the end of the line", quote(next.text)));
}

std::string quote(std::string_view text) {
    constexpr std::size_t max_shown = 40;
    std::string quoted = "'";
    for (const char c : text.substr(0, max_shown)) {
        if (c >= ' ' && c <= '~') {
            quoted += c;
        } else {
            quoted += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        }
    }
    quoted += text.size() > max_shown ? "...'" : "'";
    return quoted;
}

void refuse(const Word& at, const std::string& why) {
    throw ParseError(at.line, at.column, why);
}

std::uint64_t number(const Word& word, const char* what) {
    if (word.empty()) refuse(word, fmt::format("a number is missing for {}", what));
    std::uint64_t value = 0;
    const char* const end = word.text.data() + word.text.size();
    const auto result = std::from_chars(word.text.data(), end, value);
    if (result.ptr != end) {
        refuse(word, fmt::format("expected a number for {}, not {}", what, quote(word.text)));
    }
    if (result.ec != std::errc{}) refuse(word, fmt::format("{} does not fit in 64 bits", quote(word.text)));
    return value;
}

int rank_number(const Word& word, const char* what, int ranks) {
    const std::uint64_t value = number(word, what);
    if (value >= static_cast<std::uint64_t>(ranks)) {
        refuse(word,
               fmt::format("{} {} is out of range: the group has ranks 0 to {}", what, value, ranks - 1));
    }
    return static_cast<int>(value);
}

void refuse_unknown(const Word& word, const char* what, const std::vector<std::string>& valid) {
    if (word.empty()) refuse(word, fmt::format("{} is missing; valid: {}", what, fmt::join(valid, ", ")));
    refuse(word, fmt::format("unknown {} {}{}", what, quote(word.text), suggestion(word.text, valid)));
}

Operator parse_operator(const Word& word) {
    const auto found = find_operator(word.text);
    if (!found) refuse_unknown(word, "operator", operator_names());
    return *found;
}

Type parse_type(const Word& word) {
    const auto found = find_type(word.text);
    if (!found) refuse_unknown(word, "type", type_names());
    return *found;
}

}  // namespace lapwing
