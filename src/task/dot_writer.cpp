#include "task/dot_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace lapwing {
namespace {

constexpr double points_per_inch = 72;
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

double outward(DotWriter::Edge edge) {
    return edge == DotWriter::Edge::left ? -1 : 1;
}

}  // namespace

DotWriter::DotWriter(const std::string& title) : title_(title) {}

double DotWriter::width(std::size_t characters) {
    return static_cast<double>(characters) * character_width + 16;
}

void DotWriter::node(Point place, double node_width, std::string_view text) {
    left_ = nodes_.empty() ? place.x - node_width / 2 : std::min(left_, place.x - node_width / 2);
    top_ = nodes_.empty() ? place.y : std::min(top_, place.y);
    text_ += fmt::format("  n{} [pos=\"{:.1f},{:.1f}\" width={:.3f} label={}", nodes_.size(), place.x,
                         -place.y, node_width / points_per_inch, escaped(text));
    nodes_.push_back({place, node_width});
}

DotWriter::Node DotWriter::box(Point place, double box_width, Kind kind, std::string_view text,
                               std::string_view tooltip, Line border) {
    node(place, box_width, text);
    text_ += fmt::format(" fillcolor=\"{}\" tooltip={}{}];\n", fill(kind), escaped(tooltip),
                         border == Line::dashed ? " style=\"filled,dashed\"" : "");
    return nodes_.size() - 1;
}

DotWriter::Node DotWriter::words(Point place, std::string_view text, std::string_view colour, bool bold) {
    node(place, width(text.size()), text);
    text_ += fmt::format(" shape=plaintext style=\"\" fontcolor=\"{}\" fontname=\"{}\"];\n", colour,
                         bold ? "sans-serif bold" : "sans-serif");
    return nodes_.size() - 1;
}

DotWriter::Point DotWriter::meeting(End end) const {
    const Extent& extent = nodes_[end.node];
    return {extent.place.x + outward(end.edge) * extent.width / 2, extent.place.y};
}

// An arrow is a chain of cubic curves with horizontal ends, in dot's form: "e," and the arrow's tip, then
// the points.
void DotWriter::arrow(End from, End to, std::string_view colour, Line line,
                      std::span<const Passage> passages) {
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

std::string DotWriter::finish() {
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

std::string_view rank_colour(std::size_t index) {
    static constexpr std::array<std::string_view, 8> colours = {"#1f5fa8", "#b5442d", "#2d7d46", "#7a4ba0",
                                                                "#a8761a", "#22808a", "#b03a78", "#5a5a5a"};
    return colours[index % colours.size()];
}

}  // namespace lapwing
