#include "topology/host_order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <span>
#include <utility>

#include "base/error.hpp"
#include "base/nearest_name.hpp"
#include "base/text_file.hpp"
#include "base/values.hpp"

namespace lapwing::topology {
namespace {

constexpr std::size_t max_hosts = 1 << 18;
constexpr std::size_t longest_name = 253;  // as in the domain name system
constexpr std::size_t max_dimensions = 8;

// The line that is being read, for messages.
struct SourceLine {
    const std::string& file;
    int number = 0;

    template <typename... Arguments>
    [[noreturn]] void refuse(fmt::format_string<Arguments...> why, Arguments&&... arguments) const {
        throw Error(ErrorCode::parse, "{}:{}: {}", file, number,
                    fmt::format(why, std::forward<Arguments>(arguments)...));
    }
};

bool digits(std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Parses "4x4". Returns an empty vector if the text is not of that form. A number that is too large becomes
// 0.
std::vector<int> extents_in(std::string_view text) {
    std::vector<int> extents;
    for (const std::string_view number : split(text, 'x')) {
        if (!digits(number)) return {};
        const auto extent = parse_number(number);
        extents.push_back(extent && *extent <= max_hosts ? static_cast<int>(*extent) : 0);
    }
    return extents;
}

// Splits a line at spaces, and at commas outside of brackets.
std::vector<std::string_view> words_of(std::string_view line) {
    std::vector<std::string_view> words;
    std::size_t begin = 0;
    bool inside = false;
    for (std::size_t i = 0; i <= line.size(); ++i) {
        const char c = i < line.size() ? line[i] : ' ';
        if (c == '[') inside = true;
        if (c == ']') inside = false;
        const bool ends = c == ' ' || c == '\t' || c == '\r' || (c == ',' && !inside);
        if (!ends) continue;
        if (i > begin) words.push_back(line.substr(begin, i - begin));
        begin = i + 1;
    }
    return words;
}

// Expands the text between brackets: "01-16,20" to 01, 02, ... 16, 20, and "3-1" to 3, 2, 1.
std::vector<std::string> numbers_in(std::string_view series, std::string_view word, const SourceLine& line) {
    std::vector<std::string> numbers;
    for (const std::string_view entry : split(series, ',')) {
        const std::size_t dash = entry.find('-');
        const std::string_view first = entry.substr(0, dash);
        const std::string_view last = dash == std::string_view::npos ? first : entry.substr(dash + 1);
        if (!digits(first) || !digits(last) || first.size() > 9 || last.size() > 9) {
            line.refuse("'{}': brackets must contain numbers and ranges such as [1-8,12], not '{}'", word,
                        entry);
        }
        const auto from = static_cast<std::int64_t>(*parse_number(first));
        const auto to = static_cast<std::int64_t>(*parse_number(last));
        if (static_cast<std::size_t>(std::abs(to - from)) + numbers.size() >= max_hosts)
            line.refuse("'{}' names more than {} hosts", word, max_hosts);
        // All numbers have at least as many digits as the smaller end of the range.
        const std::size_t width = from <= to ? first.size() : last.size();
        for (std::int64_t number = from;; number += from <= to ? 1 : -1) {
            numbers.push_back(fmt::format("{:0{}}", number, width));
            if (number == to) break;
        }
    }
    return numbers;
}

// Expands "r[1-2]n[1-2]" to r1n1, r1n2, r2n1, r2n2.
std::vector<std::string> names_in(std::string_view word, const SourceLine& line) {
    std::vector<std::string> names = {""};
    std::string_view rest = word;
    while (!rest.empty()) {
        const std::size_t open = std::min(rest.find('['), rest.size());
        const std::string_view plain = rest.substr(0, open);
        for (const char c : plain) {
            const bool good = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                              c == '-' || c == '_' || c == '.';
            if (!good)
                line.refuse("'{}': a host name must consist of letters, digits, '-', '_' and '.'", word);
        }
        for (std::string& name : names) name += plain;
        rest.remove_prefix(open);
        if (rest.empty()) break;
        const std::size_t close = rest.find(']');
        if (close == std::string_view::npos) line.refuse("'{}': missing ']'", word);
        const std::vector<std::string> numbers = numbers_in(rest.substr(1, close - 1), word, line);
        rest.remove_prefix(close + 1);
        if (names.size() * numbers.size() > max_hosts)
            line.refuse("'{}' names more than {} hosts", word, max_hosts);
        std::vector<std::string> longer;
        longer.reserve(names.size() * numbers.size());
        for (const std::string& name : names) {
            for (const std::string& number : numbers) longer.push_back(name + number);
        }
        names = std::move(longer);
        if (names.front().size() > longest_name) break;
    }
    if (names.front().size() > longest_name)
        line.refuse("'{}...' is too long for a host name", word.substr(0, 20));
    return names;
}

std::vector<std::string> names_in(std::span<const std::string_view> words, const SourceLine& line) {
    static const std::vector<std::string> grid_words = {"torus", "mesh"};
    std::vector<std::string> names;
    for (std::size_t i = 0; i < words.size(); ++i) {
        // For example "tours 4x4 node[1-16]".
        if (words[i].find('x') != std::string_view::npos && !extents_in(words[i]).empty()) {
            line.refuse("'{}' is the shape of a grid and must follow the word torus or mesh{}", words[i],
                        i == 0 ? "" : suggestion(words[i - 1], grid_words));
        }
        const std::vector<std::string> more = names_in(words[i], line);
        names.insert(names.end(), more.begin(), more.end());
        if (names.size() > max_hosts) line.refuse("more than {} hosts", max_hosts);
    }
    return names;
}

// Reads the line "torus 4x4 node[01-16]". Returns its hosts in the order of the path.
std::vector<std::string> read_grid(std::span<const std::string_view> words, const SourceLine& line) {
    Grid grid;
    grid.wraps = words[0] == "torus";
    if (words.size() > 1) grid.extents = extents_in(words[1]);
    if (grid.extents.empty()) {
        line.refuse("'{}' must be followed by a shape such as 4x4{}", words[0],
                    words.size() > 1 ? fmt::format(", not '{}'", words[1]) : "");
    }
    std::size_t size = 1;
    for (const int extent : grid.extents) {
        size *= static_cast<std::size_t>(extent);
        if (extent == 0 || size > max_hosts || grid.extents.size() > max_dimensions) {
            line.refuse("'{}': a grid must have 1 to {} hosts and at most {} dimensions", words[1], max_hosts,
                        max_dimensions);
        }
    }
    const std::vector<std::string> names = names_in(words.subspan(2), line);
    if (names.size() != size)
        line.refuse("a {} of {} has {} hosts, but the line names {}", words[0], words[1], size, names.size());
    std::vector<std::string> ordered;
    ordered.reserve(size);
    for (const int cell : path_through(grid)) ordered.push_back(names[static_cast<std::size_t>(cell)]);
    return ordered;
}

std::string_view short_name(std::string_view host) {
    return host.substr(0, host.find('.'));
}

}  // namespace

int Grid::size() const {
    int size = 1;
    for (const int extent : extents) size *= extent;
    return size;
}

// A Gray code of mixed radix (Knuth, The Art of Computer Programming, volume 4A, section 7.2.1.1): from one
// number to the next, one digit changes by one, modular in a torus, reflected in a mesh.
std::vector<int> path_through(const Grid& grid) {
    std::vector<int> path(static_cast<std::size_t>(grid.size()));
    for (int step = 0; step < grid.size(); ++step) {
        int cell = 0;
        int stride = 1;
        int rest = step;  // complete rounds through all lower dimensions
        for (const int extent : grid.extents) {
            const int rounds = rest / extent;
            const int digit = rest % extent;
            if (grid.wraps) {
                cell += stride * ((digit + (extent - rounds % extent)) % extent);
            } else {
                cell += stride * (rounds % 2 == 0 ? digit : extent - 1 - digit);
            }
            stride *= extent;
            rest = rounds;
        }
        path[static_cast<std::size_t>(step)] = cell;
    }
    return path;
}

HostOrder HostOrder::read(const std::string& path) {
    return parse(read_text_file(path, "topology file"), path);
}

HostOrder HostOrder::parse(std::string_view text, const std::string& name) {
    HostOrder order;
    order.fingerprint_ = fingerprint_of(text);
    std::vector<int> lines;  // by host
    SourceLine line{name};
    for (const std::string_view content : split(text, '\n')) {
        ++line.number;
        const std::vector<std::string_view> words = words_of(content.substr(0, content.find('#')));
        if (words.empty()) continue;
        std::vector<std::string> hosts =
            words[0] == "torus" || words[0] == "mesh" ? read_grid(words, line) : names_in(words, line);
        if (order.hosts_.size() + hosts.size() > max_hosts) line.refuse("more than {} hosts", max_hosts);
        for (std::string& host : hosts) {
            const int here = static_cast<int>(order.hosts_.size());
            const auto [found, fresh] = order.indices_.emplace(host, here);
            if (!fresh) {
                const int before = lines[static_cast<std::size_t>(found->second)];
                line.refuse("{}", before == line.number
                                      ? fmt::format("{} is named twice on this line", host)
                                      : fmt::format("{} is already named on line {}", host, before));
            }
            const auto [same_short, first] = order.short_indices_.emplace(short_name(host), here);
            if (!first) same_short->second = -1;
            order.hosts_.push_back(std::move(host));
            lines.push_back(line.number);
        }
    }
    if (order.hosts_.empty()) throw Error(ErrorCode::parse, "{}: the file names no host", name);
    return order;
}

int HostOrder::find(std::string_view host) const {
    if (const auto found = indices_.find(host); found != indices_.end()) return found->second;
    const auto found = short_indices_.find(short_name(host));
    if (found == short_indices_.end() || found->second < 0) return -1;
    // At least one of the two names must be short: node1.a is not node1.b.
    const std::string& named = hosts_[static_cast<std::size_t>(found->second)];
    const bool same = host.find('.') == std::string_view::npos || named.find('.') == std::string::npos;
    return same ? found->second : -1;
}

}  // namespace lapwing::topology
