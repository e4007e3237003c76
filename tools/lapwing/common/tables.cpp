#include "lapwing/common/tables.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "task/text.hpp"

namespace lapwing::tool {
namespace {

// Rows that belong together, for each rank.
struct Section {
    std::string heading;
    std::vector<std::vector<std::string>> columns;
};

std::string with_span(std::string text, Span span) {
    if (span.length != 0) text += fmt::format(" {}", print(span));
    return text;
}

std::string with_count(std::string text, std::uint64_t count) {
    return count == 1 ? text : fmt::format("{}, {} times", text, count);
}

std::string words(const Task& task) {
    switch (task.kind) {
        case Kind::send:
            return with_span(fmt::format("send to {}", task.peer), task.source);
        case Kind::recv:
            return with_span(fmt::format("recv from {}", task.peer), task.target);
        case Kind::wait:
            return with_count(fmt::format("recv wait from {}", task.peer), task.count);
        case Kind::copy:
            return fmt::format("copy {} to {}", print(task.source), print(task.target));
        case Kind::reduce:
            return fmt::format("reduce {} {} {} into {}", name(task.op), name(task.type), print(task.source),
                               print(task.target));
        case Kind::enable_send:
            return with_count(fmt::format("send enable {}", task.peer), task.count);
        case Kind::enable_recv:
            return with_count(fmt::format("recv enable {}", task.peer), task.count);
    }
    return {};
}

std::string management_words(const Task& task) {
    return fmt::format("{}{}", task.kind == Kind::wait ? "MQ " : "", words(task));
}

// Table III has two rows for each: the task, and whether it is enabled when it is posted.
void add_queue(std::vector<std::string>& column, const std::vector<QueuedTask>& queue, const char* kind) {
    for (const QueuedTask& queued : queue) {
        column.push_back(words(queued.task));
        column.push_back(fmt::format("{} {}", kind, queued.enabled ? "enabled" : "not enabled"));
    }
}

std::size_t longest(const std::vector<std::string>& cells) {
    std::size_t result = 0;
    for (const std::string& cell : cells) result = std::max(result, cell.size());
    return result;
}

void append_row(std::string& text, const std::vector<std::string>& cells,
                const std::vector<std::size_t>& widths) {
    std::string line = "  ";
    for (std::size_t i = 0; i < cells.size(); ++i) line += fmt::format("{:<{}}  ", cells[i], widths[i]);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
}

// The columns from `first` to `last` of every section.
std::string side_by_side(const std::vector<int>& ranks, const std::vector<Section>& sections,
                         std::size_t first, std::size_t last) {
    std::vector<std::string> header;
    std::vector<std::string> ruler;
    std::vector<std::size_t> widths;
    for (std::size_t i = first; i < last; ++i) {
        header.push_back(fmt::format("rank {}", ranks[i]));
        std::size_t width = header.back().size();
        for (const Section& section : sections) width = std::max(width, longest(section.columns[i]));
        widths.push_back(width);
        ruler.push_back(std::string(width, '-'));
    }
    std::string text;
    append_row(text, header, widths);
    append_row(text, ruler, widths);
    for (const Section& section : sections) {
        std::size_t rows = 0;
        for (std::size_t i = first; i < last; ++i) rows = std::max(rows, section.columns[i].size());
        if (rows == 0) continue;
        text += fmt::format("{}\n", section.heading);
        for (std::size_t row = 0; row < rows; ++row) {
            std::vector<std::string> cells;
            for (std::size_t i = first; i < last; ++i) {
                cells.push_back(row < section.columns[i].size() ? section.columns[i][row] : "");
            }
            append_row(text, cells, widths);
        }
    }
    return text;
}

// As many ranks beside each other as fit, then the next ones below.
std::string lay_out(const std::vector<int>& ranks, const std::vector<Section>& sections, std::size_t width) {
    std::string text;
    std::size_t first = 0;
    std::size_t used = 0;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
        std::size_t column = fmt::formatted_size("rank {}", ranks[i]);
        for (const Section& section : sections) column = std::max(column, longest(section.columns[i]));
        if (i > first && used + column + 2 > width) {
            text += side_by_side(ranks, sections, first, i) + "\n";
            first = i;
            used = 0;
        }
        used += column + 2;
    }
    return text + side_by_side(ranks, sections, first, ranks.size());
}

bool is_number(const std::string& cell) {
    return !cell.empty() &&
           std::all_of(cell.begin(), cell.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

}  // namespace

std::string table(std::span<const List> lists, std::size_t width) {
    std::vector<int> ranks;
    Section offered{"receives, posted at the start", {}};
    Section tasks{"tasks", {}};
    for (const List& list : lists) {
        ranks.push_back(list.rank);
        std::vector<std::string>& first = offered.columns.emplace_back();
        std::vector<std::string>& then = tasks.columns.emplace_back();
        for (const Task& task : list.tasks) {
            const bool leads = task.kind == Kind::recv && then.empty();
            (leads ? first : then).push_back(words(task));
        }
        if (list.tasks.empty()) then.push_back("nothing to do");
    }
    return lay_out(ranks, {offered, tasks}, width);
}

std::string table(std::span<const Queues> queues, std::size_t width) {
    std::vector<int> ranks;
    Section receive{"receive queues, one for each peer", {}};
    Section send{"send queues, one for each peer", {}};
    Section management{"management queue", {}};
    for (const Queues& of_rank : queues) {
        ranks.push_back(of_rank.rank);
        receive.columns.emplace_back();
        send.columns.emplace_back();
        management.columns.emplace_back();
        for (const PeerQueues& peer : of_rank.peers) {
            add_queue(receive.columns.back(), peer.receive, "recv");
            add_queue(send.columns.back(), peer.send, "send");
        }
        for (const Task& task : of_rank.management)
            management.columns.back().push_back(management_words(task));
        if (of_rank.management.empty()) management.columns.back().push_back("nothing to do");
    }
    return lay_out(ranks, {receive, send, management}, width) +
           "\nCompletion of the last task in the management queue signals the completion of the list.\n";
}

std::string align(const std::vector<std::vector<std::string>>& rows) {
    std::vector<std::size_t> widths;
    std::vector<bool> numbers;
    for (std::size_t row = 0; row < rows.size(); ++row) {
        widths.resize(std::max(widths.size(), rows[row].size()));
        numbers.resize(widths.size(), true);
        for (std::size_t i = 0; i < rows[row].size(); ++i) {
            widths[i] = std::max(widths[i], rows[row][i].size());
            if (row > 0 && !is_number(rows[row][i])) numbers[i] = false;
        }
    }
    std::string text;
    for (const std::vector<std::string>& row : rows) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i) {
            line += numbers[i] && rows.size() > 1 ? fmt::format("{:>{}}  ", row[i], widths[i])
                                                  : fmt::format("{:<{}}  ", row[i], widths[i]);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        text += fmt::format("  {}\n", line);
    }
    return text;
}

std::size_t output_width() {
    winsize size{};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
    const char* columns = std::getenv("COLUMNS");
    const int stated = columns != nullptr ? std::atoi(columns) : 0;
    return stated > 0 ? static_cast<std::size_t>(stated) : 120;
}

}  // namespace lapwing::tool
