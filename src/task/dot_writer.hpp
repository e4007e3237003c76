// Writes a drawing in Graphviz' dot language: boxes and words at given points, and arrows between the boxes.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "task/task.hpp"

namespace lapwing {

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

    explicit DotWriter(const std::string& title);

    // Returns the width of a box for text of that length.
    static double width(std::size_t characters);

    // `tooltip`: shown when the pointer is over the box in an SVG.
    Node box(Point place, double box_width, Kind kind, std::string_view text, std::string_view tooltip,
             Line border = Line::solid);
    Node words(Point place, std::string_view text, std::string_view colour = "#404040", bool bold = false);
    void arrow(End from, End to, std::string_view colour, Line line = Line::solid,
               std::span<const Passage> passages = {});

    std::string finish();

  private:
    struct Extent {
        Point place;
        double width;
    };
    void node(Point place, double node_width, std::string_view text);
    Point meeting(End end) const;

    std::string title_;
    std::string text_;
    std::vector<Extent> nodes_;
    double left_ = 0;  // of all nodes
    double top_ = 0;
};

constexpr double row_height = 30;  // from one box of a column to the next
constexpr double box_height = 19;

// Returns the colour of the arrows of a rank.
std::string_view rank_colour(std::size_t index);

}  // namespace lapwing
