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

using Cells = std::vector<std::string>;

// What a rank has under each heading.
struct RankColumn {
    int rank;
    std::vector<Cells> sections;
    std::size_t width;  // set by lay_out()
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

// Table III has two rows for each: the task, and whether it is enabled when it is posted.
void add_queue(Cells& cells, const std::vector<QueuedTask>& queue, const char* kind) {
    for (const QueuedTask& queued : queue) {
        cells.push_back(words(queued.task));
        cells.push_back(fmt::format("{} {}", kind, queued.enabled ? "enabled" : "not enabled"));
    }
}

std::size_t width_of(const RankColumn& column) {
    std::size_t width = fmt::formatted_size("rank {}", column.rank);
    for (const Cells& cells : column.sections) {
        for (const std::string& cell : cells) width = std::max(width, cell.size());
    }
    return width;
}

std::string side_by_side(std::span<const char* const> headings, std::span<const RankColumn> columns) {
    // A line of what `cell` returns for each column.
    const auto line_of = [&](const auto& cell) {
        std::string line = "  ";
        for (const RankColumn& column : columns) line += fmt::format("{:<{}}  ", cell(column), column.width);
        line.erase(line.find_last_not_of(' ') + 1);
        return line + "\n";
    };
    std::string text = line_of([](const RankColumn& column) { return fmt::format("rank {}", column.rank); }) +
                       line_of([](const RankColumn& column) { return std::string(column.width, '-'); });
    for (std::size_t section = 0; section < headings.size(); ++section) {
        std::size_t rows = 0;
        for (const RankColumn& column : columns) rows = std::max(rows, column.sections[section].size());
        if (rows > 0) text += fmt::format("{}\n", headings[section]);
        for (std::size_t row = 0; row < rows; ++row) {
            text += line_of([&](const RankColumn& column) {
                const Cells& cells = column.sections[section];
                return row < cells.size() ? cells[row] : "";
            });
        }
    }
    return text;
}

// As many ranks beside each other as fit, then the next ones below.
std::string lay_out(std::span<const char* const> headings, std::span<RankColumn> columns, std::size_t width) {
    std::string text;
    std::size_t first = 0;
    std::size_t used = 0;
    for (std::size_t i = 0; i < columns.size(); ++i) {
        columns[i].width = width_of(columns[i]);
        if (i > first && used + columns[i].width + 2 > width) {
            text += side_by_side(headings, columns.subspan(first, i - first)) + "\n";
            first = i;
            used = 0;
        }
        used += columns[i].width + 2;
    }
    return text + side_by_side(headings, columns.subspan(first));
}

bool is_number(const std::string& cell) {
    return !cell.empty() &&
           std::all_of(cell.begin(), cell.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

}  // namespace

std::string table(std::span<const List> lists, std::size_t width) {
    static constexpr const char* headings[] = {"receives, posted at the start", "tasks"};
    std::vector<RankColumn> columns;
    for (const List& list : lists) {
        Cells offered;
        Cells tasks;
        for (const Task& task : list.tasks) {
            const bool leads = task.kind == Kind::recv && tasks.empty();
            (leads ? offered : tasks).push_back(words(task));
        }
        if (list.tasks.empty()) tasks.push_back("nothing to do");
        columns.push_back({list.rank, {std::move(offered), std::move(tasks)}, 0});
    }
    return lay_out(headings, columns, width);
}

std::string table(std::span<const Queues> queues, std::size_t width) {
    static constexpr const char* headings[] = {"receive queues, one for each peer",
                                               "send queues, one for each peer", "management queue"};
    std::vector<RankColumn> columns;
    for (const Queues& of_rank : queues) {
        Cells receive;
        Cells send;
        Cells management;
        for (const PeerQueues& peer : of_rank.peers) {
            add_queue(receive, peer.receive, "recv");
            add_queue(send, peer.send, "send");
        }
        for (const Task& task : of_rank.management)
            management.push_back((task.kind == Kind::wait ? "MQ " : "") + words(task));
        if (management.empty()) management.push_back("nothing to do");
        columns.push_back({of_rank.rank, {std::move(receive), std::move(send), std::move(management)}, 0});
    }
    return lay_out(headings, columns, width) +
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
