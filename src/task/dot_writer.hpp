// Writes a drawing in Graphviz' dot language: boxes and words at given places, and arrows that pass
// between the boxes.
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

    // Places are in points, x to the right and y downwards, and name the middle of a node.
    struct Place {
        double x = 0;
        double y = 0;
    };
    enum class Edge { left, right };  // where an arrow meets a node
    struct End {
        Node node;
        Edge edge;
    };
    enum class Line { solid, dashed };
    // A stretch that an arrow takes horizontally, to come through a column of boxes.
    struct Passage {
        double from_x = 0;
        double to_x = 0;
        double y = 0;
    };

    explicit DotWriter(const std::string& title);

    // How wide a box for so many characters is.
    static double width(std::size_t characters);

    // `tooltip` shows where the viewer of an SVG points.
    Node box(Place place, double box_width, Kind kind, std::string_view text, std::string_view tooltip,
             Line border = Line::solid);
    Node words(Place place, std::string_view text, std::string_view colour = "#404040", bool bold = false);
    void arrow(End from, End to, std::string_view colour, Line line = Line::solid,
               std::span<const Passage> passages = {});

    std::string finish();

  private:
    struct Extent {
        Place place;
        double width;
    };
    void node(Place place, double node_width, std::string_view text);
    Place meeting(End end) const;

    std::string title_;
    std::string text_;
    std::vector<Extent> nodes_;
    double left_ = 0;  // of all nodes
    double top_ = 0;
};

constexpr double row_height = 30;  // from one box of a column to the next
constexpr double box_height = 19;

// A colour that tells arrows of one rank from those of the next.
std::string_view rank_colour(std::size_t index);

}  // namespace lapwing
