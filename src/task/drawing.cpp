#include "task/drawing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
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

constexpr double points_per_inch = 72;
constexpr double row_height = 30;  // from one box of a column to the next
constexpr double box_height = 19;
constexpr double arrow_length = 6;       // at the arrowsize below
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

// A dot string: quotes and backslashes are escaped, line ends become dot's own, other control characters
// blanks. `behind` is dot's own, as \l, which moves the line to the left.
std::string escaped(std::string_view text, std::string_view behind = "") {
    std::string result = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            result += '\\';
            result += c;
        } else if (c == '\n') {
            result += behind.empty() ? "\\n" : behind;
        } else {
            result += static_cast<unsigned char>(c) < ' ' || c == '\x7f' ? ' ' : c;
        }
    }
    result += behind;
    return result + '"';
}

// Writes a drawing in Graphviz' dot language: boxes and words at given points, and arrows between the boxes.
class DotWriter {
  public:
    using Node = std::size_t;

    // The center of a node, in typographic points: x to the right, y downwards.
    struct Point {
        double x = 0;
        double y = 0;
    };
    enum class Edge { left, right };  // the side at which an arrow meets a node
    struct End {
        Node node;
        Edge edge;
    };
    enum class Line { solid, dashed };
    // A horizontal section of an arrow, through a column of boxes.
    struct Passage {
        double from_x = 0;
        double to_x = 0;
        double y = 0;
    };

    explicit DotWriter(const std::string& title) : title_(title) {}

    // Returns the width of a box for text of that length.
    static double width(std::size_t characters) {
        return static_cast<double>(characters) * character_width + 16;
    }

    // `tooltip`: shown when the pointer is over the box in an SVG.
    Node box(Point place, double box_width, Kind kind, std::string_view text, std::string_view tooltip) {
        node(place, box_width, text);
        text_ += fmt::format(" fillcolor=\"{}\" tooltip={}];\n", fill(kind), escaped(tooltip));
        return nodes_.size() - 1;
    }
    Node words(Point place, std::string_view text, std::string_view colour = "#404040", bool bold = false) {
        node(place, width(text.size()), text);
        text_ += fmt::format(" shape=plaintext style=\"\" fontcolor=\"{}\" fontname=\"{}\"];\n", colour,
                             bold ? "sans-serif bold" : "sans-serif");
        return nodes_.size() - 1;
    }
    // An arrow is a chain of cubic curves with horizontal ends, in dot's form: "e," and the arrow's tip, then
    // the points.
    void arrow(End from, End to, std::string_view colour, Line line = Line::solid,
               std::span<const Passage> passages = {}) {
        const Point tip = meeting(to);
        const double to_side = outward(to.edge);
        const double from_side = outward(from.edge);
        text_ += fmt::format("  n{} -> n{} [color=\"{}\"{} pos=\"e,{:.1f},{:.1f}", from.node, to.node, colour,
                             line == Line::dashed ? " style=dashed" : "", tip.x, -tip.y);
        Point here = meeting(from);
        text_ += fmt::format(" {:.1f},{:.1f}", here.x, -here.y);
        const auto curve_to = [&](Point there, double end_side) {
            const double reach = std::max(12.0, std::abs(there.x - here.x) / 2);
            text_ += fmt::format(" {:.1f},{:.1f} {:.1f},{:.1f} {:.1f},{:.1f}", here.x + from_side * reach,
                                 -here.y, there.x + end_side * reach, -there.y, there.x, -there.y);
            here = there;
        };
        for (const Passage& passage : passages) {
            curve_to({passage.from_x, passage.y}, -from_side);
            curve_to({passage.to_x, passage.y}, -from_side);
        }
        curve_to({tip.x + to_side * arrow_length, tip.y}, to_side);
        text_ += "\"];\n";
    }

    std::string finish() {
        // All is placed already (layout=nop2), also for a plain `dot`.
        std::string text = "digraph lapwing {\n  graph [layout=nop2 bgcolor=white pad=0.2];\n";
        text += fmt::format(
            "  node [shape=box style=filled color=\"#707070\" fontname=monospace fontsize=10 "
            "fixedsize=true height={:.3f} penwidth=0.7];\n",
            box_height / points_per_inch);
        text += "  edge [arrowsize=0.6 penwidth=1.1];\n";
        if (!title_.empty()) {
            // A node: the place of a graph's own label would need the extent of the whole.
            const double title_width = width(title_.size()) * 1.2;
            text += fmt::format(
                "  title [pos=\"{:.1f},{:.1f}\" width={:.3f} label={} shape=plaintext style=\"\" "
                "fontname=\"sans-serif\" fontsize=12];\n",
                left_ + title_width / 2, -(top_ - 30), title_width / points_per_inch, escaped(title_, "\\l"));
        }
        return text + text_ + "}\n";
    }

  private:
    struct Extent {
        Point place;
        double width;
    };
    void node(Point place, double node_width, std::string_view text) {
        left_ = nodes_.empty() ? place.x - node_width / 2 : std::min(left_, place.x - node_width / 2);
        top_ = nodes_.empty() ? place.y : std::min(top_, place.y);
        text_ += fmt::format("  n{} [pos=\"{:.1f},{:.1f}\" width={:.3f} label={}", nodes_.size(), place.x,
                             -place.y, node_width / points_per_inch, escaped(text));
        nodes_.push_back({place, node_width});
    }
    static double outward(Edge edge) { return edge == Edge::left ? -1 : 1; }
    Point meeting(End end) const {
        const Extent& extent = nodes_[end.node];
        return {extent.place.x + outward(end.edge) * extent.width / 2, extent.place.y};
    }

    std::string title_;
    std::string text_;
    std::vector<Extent> nodes_;
    double left_ = 0;  // of all nodes
    double top_ = 0;
};

// Returns the colour of the arrows of a rank.
std::string_view rank_colour(std::size_t index) {
    static constexpr std::array<std::string_view, 8> colours = {"#1f5fa8", "#b5442d", "#2d7d46", "#7a4ba0",
                                                                "#a8761a", "#22808a", "#b03a78", "#5a5a5a"};
    return colours[index % colours.size()];
}

using Edge = DotWriter::Edge;
using Node = DotWriter::Node;

constexpr double column_gap = 110;
constexpr std::array lanes = {0.0, 2.0, -2.0, 4.0, -4.0};  // in the gap between two boxes, from its middle

class ListDrawing {
  public:
    ListDrawing(std::span<const List> lists, const std::string& title) : lists_(lists), dot_(title) {}

    std::string draw() {
        std::size_t longest = 8;
        for (std::size_t column = 0; column < lists_.size(); ++column) {
            column_of_rank_.emplace(lists_[column].rank, column);
            for (const Task& task : lists_[column].tasks) longest = std::max(longest, print(task).size());
        }
        width_ = DotWriter::width(longest);
        boxes_.resize(lists_.size());
        for (std::size_t column = 0; column < lists_.size(); ++column) draw_column(column);
        for (std::size_t column = 0; column < lists_.size(); ++column) draw_messages(column);
        draw_unmet_receives();
        return dot_.finish();
    }

  private:
    struct Receive {
        std::size_t column;
        std::size_t task;
    };
    // The receives that rank `second` posts for rank `first`, in order, and how many of them are met.
    struct Channel {
        std::vector<Receive> receives;
        std::size_t met = 0;
    };

    DotWriter::Point place(std::size_t column, std::size_t row) const {
        return {static_cast<double>(column) * (width_ + column_gap), static_cast<double>(row) * row_height};
    }

    void draw_column(std::size_t column) {
        const List& list = lists_[column];
        const DotWriter::Point top = place(column, 0);
        dot_.words({top.x, top.y - row_height}, fmt::format("rank {}", list.rank), rank_colour(column), true);
        for (std::size_t i = 0; i < list.tasks.size(); ++i) {
            const Task& task = list.tasks[i];
            boxes_[column].push_back(
                dot_.box(place(column, i), width_, task.kind, print(task),
                         fmt::format("rank {}, task {}: {}", list.rank, i, meaning(task.kind))));
            if (task.kind == Kind::recv) channels_[{task.peer, list.rank}].receives.push_back({column, i});
        }
    }

    // The k-th send between two ranks meets the k-th receive.
    void draw_messages(std::size_t column) {
        const List& list = lists_[column];
        for (std::size_t i = 0; i < list.tasks.size(); ++i) {
            const Task& task = list.tasks[i];
            if (!sends(task.kind)) continue;
            Channel& channel = channels_[{list.rank, task.peer}];
            if (channel.met < channel.receives.size()) {
                draw_message(column, i, channel.receives[channel.met++]);
            } else {
                draw_stub(column, i, task.peer, true);
            }
        }
    }

    void draw_message(std::size_t column, std::size_t task, const Receive& receive) {
        const bool to_the_right = receive.column >= column;
        dot_.arrow({boxes_[column][task], to_the_right ? Edge::right : Edge::left},
                   {boxes_[receive.column][receive.task], receive.column > column ? Edge::left : Edge::right},
                   rank_colour(column), DotWriter::Line::solid, passages(column, task, receive));
    }

    // Through the columns between two ranks a message takes the gap between two boxes that lies nearest to
    // the straight way; messages of different ranks keep a small distance there.
    std::vector<DotWriter::Passage> passages(std::size_t column, std::size_t task,
                                             const Receive& receive) const {
        std::vector<DotWriter::Passage> result;
        const DotWriter::Point from = place(column, task);
        const DotWriter::Point to = place(receive.column, receive.task);
        const std::size_t between = std::max(column, receive.column) - std::min(column, receive.column);
        const double side = receive.column > column ? 1 : -1;
        const double lane = lanes[column % lanes.size()];
        for (std::size_t step = 1; step < between; ++step) {
            const double share = static_cast<double>(step) / static_cast<double>(between);
            const double straight_y = from.y + (to.y - from.y) * share;
            const double gap_y = (std::floor(straight_y / row_height) + 0.5) * row_height + lane;
            const double x = from.x + (to.x - from.x) * share;
            result.push_back({x - side * width_ / 2, x + side * width_ / 2, gap_y});
        }
        return result;
    }

    void draw_unmet_receives() {
        for (const auto& [ranks, channel] : channels_) {
            for (std::size_t k = channel.met; k < channel.receives.size(); ++k) {
                draw_stub(channel.receives[k].column, channel.receives[k].task, ranks.first, false);
            }
        }
    }

    // A message whose other end is not drawn, or does not exist.
    void draw_stub(std::size_t column, std::size_t task, int peer, bool outward) {
        const auto peer_column = column_of_rank_.find(peer);
        const bool drawn = peer_column != column_of_rank_.end();
        const bool to_the_right = drawn ? peer_column->second >= column : peer > lists_[column].rank;
        const std::string text = drawn ? "unmet" : fmt::format("{} {}", outward ? "to" : "from", peer);
        DotWriter::Point stub = place(column, task);
        stub.x += (to_the_right ? 1 : -1) * (width_ / 2 + 20 + DotWriter::width(text.size()) / 2);
        const Node words = dot_.words(stub, text);
        const DotWriter::End here{boxes_[column][task], to_the_right ? Edge::right : Edge::left};
        const DotWriter::End there{words, to_the_right ? Edge::left : Edge::right};
        const std::string_view colour = drawn ? "#d00000" : "#808080";
        dot_.arrow(outward ? here : there, outward ? there : here, colour, DotWriter::Line::dashed);
    }

    std::span<const List> lists_;
    DotWriter dot_;
    double width_ = 0;
    std::unordered_map<int, std::size_t> column_of_rank_;
    std::vector<std::vector<Node>> boxes_;  // by column and task
    std::map<std::pair<int, int>, Channel> channels_;
};

}  // namespace

std::string draw(std::span<const List> lists, const std::string& title) {
    return ListDrawing(lists, title).draw();
}

}  // namespace lapwing
