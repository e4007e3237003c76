#include "task/drawing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "task/text.hpp"

namespace lapwing {
namespace {

// Lengths are in points, of which an inch has 72.
constexpr double row_height = 30;  // from one box of a column to the next
constexpr double column_gap = 110;
constexpr double character_width = 6.1;  // of the 10-point fixed-width font below

std::string_view fill(Kind kind) {
    switch (kind) {
        case Kind::send:
            return "#cfe3f8";
        case Kind::recv:
            return "#d3efd3";
        case Kind::wait:
            return "#fbe6c0";
        case Kind::copy:
            return "#e9e9e9";
        case Kind::reduce:
            return "#e8d9f3";
        case Kind::enable_send:
        case Kind::enable_recv:
            return "#fffbd6";
    }
    return "#ffffff";
}

// Returns the colour of the arrows of a column's rank.
std::string_view colour_of(std::size_t column) {
    static constexpr std::array<std::string_view, 8> colours = {"#1f5fa8", "#b5442d", "#2d7d46", "#7a4ba0",
                                                                "#a8761a", "#22808a", "#b03a78", "#5a5a5a"};
    return colours[column % colours.size()];
}

// A dot string whose lines begin at the left: quotes and backslashes are escaped, other control characters
// become blanks.
std::string escaped(std::string_view text) {
    std::string result;
    for (const char c : text) {
        if (c == '"' || c == '\\') result += '\\';
        if (c == '\n') {
            result += "\\l";
        } else {
            result += static_cast<unsigned char>(c) < ' ' || c == '\x7f' ? ' ' : c;
        }
    }
    return result + "\\l";
}

double width_of(std::size_t characters) {
    return static_cast<double>(characters) * character_width + 16;
}

class ListDrawing {
  public:
    explicit ListDrawing(std::span<const List> lists) : lists_(lists) {}

    std::string draw(const std::string& title) {
        std::size_t longest = 8;
        for (std::size_t column = 0; column < lists_.size(); ++column) {
            column_of_rank_.emplace(lists_[column].rank, column);
            for (const Task& task : lists_[column].tasks) longest = std::max(longest, print(task).size());
        }
        width_ = width_of(longest);
        // All nodes are placed already, also for a plain `dot`. The arrows are straight, behind the boxes.
        text_ = fmt::format(
            "digraph lapwing {{\n"
            "  graph [layout=nop splines=line outputorder=edgesfirst bgcolor=white pad=0.2 labelloc=t "
            "labeljust=l fontname=\"sans-serif\" fontsize=12 label=\"{}\"];\n"
            "  node [shape=box style=filled color=\"#707070\" fontname=monospace fontsize=10 "
            "fixedsize=true width={:.3f} height=0.264 penwidth=0.7];\n"
            "  edge [arrowsize=0.6 penwidth=1.1];\n",
            escaped(title), width_ / 72);
        for (std::size_t column = 0; column < lists_.size(); ++column) draw_column(column);
        for (std::size_t column = 0; column < lists_.size(); ++column) draw_messages(column);
        for (const auto& [ranks, channel] : channels_) {
            for (std::size_t k = channel.met; k < channel.receives.size(); ++k)
                draw_stub(channel.receives[k], ranks.first, false);
        }
        return text_ + "}\n";
    }

  private:
    struct Place {
        std::size_t column;
        std::size_t task;

        double x(double width) const { return static_cast<double>(column) * (width + column_gap); }
        double y() const { return -row_height * static_cast<double>(task); }
    };
    // The receives that one rank posts for another, in order, and how many of them are met.
    struct Channel {
        std::vector<Place> receives;
        std::size_t met = 0;
    };

    // Nodes are numbered as they are drawn.
    std::size_t node(double x, double y, std::string_view label, const std::string& attributes) {
        text_ +=
            fmt::format("  n{} [pos=\"{:.1f},{:.1f}\" label=\"{}\" {}];\n", nodes_, x, y, label, attributes);
        return nodes_++;
    }
    std::size_t words(double x, double y, std::string_view label, std::string_view colour) {
        return node(
            x, y, label,
            fmt::format("shape=plaintext style=\"\" fontname=\"sans-serif\" fontcolor=\"{}\"", colour));
    }
    // `right`: the arrow starts to the right of its node, or ends there.
    void arrow(std::size_t from, bool from_right, std::size_t to, bool to_right, std::string_view colour,
               const char* style = "solid") {
        text_ += fmt::format("  n{}:{} -> n{}:{} [color=\"{}\" style={}];\n", from, from_right ? 'e' : 'w',
                             to, to_right ? 'e' : 'w', colour, style);
    }
    std::size_t box(const Place& place) const { return first_boxes_[place.column] + place.task; }

    void draw_column(std::size_t column) {
        const List& list = lists_[column];
        words(Place{column, 0}.x(width_), row_height, fmt::format("rank {}", list.rank), colour_of(column));
        first_boxes_.push_back(nodes_);
        for (std::size_t i = 0; i < list.tasks.size(); ++i) {
            const Task& task = list.tasks[i];
            const Place place{column, i};
            node(place.x(width_), place.y(), print(task),
                 fmt::format("fillcolor=\"{}\" tooltip=\"rank {}, task {}: {}\"", fill(task.kind), list.rank,
                             i, meaning(task.kind)));
            if (task.kind == Kind::recv) channels_[{task.peer, list.rank}].receives.push_back(place);
        }
    }

    // The k-th send between two ranks meets the k-th receive.
    void draw_messages(std::size_t column) {
        const List& list = lists_[column];
        for (std::size_t i = 0; i < list.tasks.size(); ++i) {
            const Task& task = list.tasks[i];
            if (!sends(task.kind)) continue;
            Channel& channel = channels_[{list.rank, task.peer}];
            if (channel.met == channel.receives.size()) {
                draw_stub({column, i}, task.peer, true);
                continue;
            }
            const Place& receive = channel.receives[channel.met++];
            arrow(box({column, i}), receive.column >= column, box(receive), receive.column <= column,
                  colour_of(column));
        }
    }

    // A message whose other end is not drawn, or does not exist.
    void draw_stub(const Place& place, int peer, bool outward) {
        const auto peer_column = column_of_rank_.find(peer);
        const bool drawn = peer_column != column_of_rank_.end();
        const bool right = drawn ? peer_column->second >= place.column : peer > lists_[place.column].rank;
        const std::string text = drawn ? "unmet" : fmt::format("{} {}", outward ? "to" : "from", peer);
        const double away = (width_ + column_gap) / 2;
        const std::size_t stub = words(place.x(width_) + (right ? away : -away), place.y(), text, "#404040");
        const std::string_view colour = drawn ? "#d00000" : "#808080";
        if (outward) {
            arrow(box(place), right, stub, !right, colour, "dashed");
        } else {
            arrow(stub, !right, box(place), right, colour, "dashed");
        }
    }

    std::span<const List> lists_;
    std::string text_;
    std::size_t nodes_ = 0;
    double width_ = 0;
    std::unordered_map<int, std::size_t> column_of_rank_;
    std::vector<std::size_t> first_boxes_;  // by column: the node of the first task
    std::map<std::pair<int, int>, Channel> channels_;
};

}  // namespace

std::string draw(std::span<const List> lists, const std::string& title) {
    return ListDrawing(lists).draw(title);
}

}  // namespace lapwing
