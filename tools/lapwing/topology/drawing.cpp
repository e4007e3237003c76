#include "lapwing/topology/drawing.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

namespace lapwing::tool {
namespace {

using topology::Grid;
using topology::HostOrder;

std::string shape(const Grid& grid) {
    return fmt::format("{}", fmt::join(grid.extents, "x"));
}

// "node1 → node2 → node3"
std::string draw_row(const HostOrder& order, int begin, int end, std::size_t width) {
    std::string text;
    std::size_t column = 0;
    for (int i = begin; i < end; ++i) {
        const std::string& host = order.hosts()[static_cast<std::size_t>(i)];
        const std::size_t needed = host.size() + (i > begin ? 3 : 0);
        if (column > 0 && 2 + column + needed > width) {
            text += "\n";
            column = 0;
        }
        if (column == 0) text += "  ";
        text += fmt::format("{}{}", i > begin ? (column == 0 ? "→ " : " → ") : "", host);
        column += needed;
    }
    return text + "\n";
}

class GridDrawing {
  public:
    GridDrawing(const HostOrder& order, const Grid& grid) : order_(order), grid_(grid) {
        const std::vector<int> path = topology::path_through(grid);
        places_.resize(path.size());
        for (std::size_t step = 0; step < path.size(); ++step)
            places_[static_cast<std::size_t>(path[step])] = static_cast<int>(step);
        columns_ = grid.extents[0];
        rows_ = grid.extents.size() > 1 ? grid.extents[1] : 1;
        for (int cell = 0; cell < grid.size(); ++cell) width_ = std::max(width_, label(cell).size());
    }

    std::string draw() const {
        std::string text;
        for (int first = 0; first < grid_.size(); first += columns_ * rows_) {
            text += heading_of_plane(first);
            for (int row = 0; row < rows_; ++row) {
                text += draw_hosts(first + row * columns_);
                if (row + 1 < rows_) text += draw_steps(first + row * columns_);
            }
        }
        return text;
    }

  private:
    int place(int cell) const { return places_[static_cast<std::size_t>(cell)]; }
    std::string label(int cell) const {
        const int number = grid_.first + place(cell);
        return fmt::format("{} {}", number, order_.hosts()[static_cast<std::size_t>(number)]);
    }
    // The path's step between two cells that are drawn side by side, or one below the other.
    const char* step(int cell, int other, const char* forth, const char* back) const {
        if (place(other) == place(cell) + 1) return forth;
        if (place(cell) == place(other) + 1) return back;
        return " ";
    }
    // Between the ends of a row, where these are joined.
    const char* step_round(int row) const {
        if (!grid_.wraps || columns_ < 3) return " ";
        return step(row + columns_ - 1, row, "→", " ");
    }
    std::string draw_hosts(int row) const {
        std::string text = fmt::format("{} ", step_round(row));
        for (int x = 0; x < columns_; ++x) {
            text += fmt::format("{:>{}}", label(row + x), width_);
            if (x + 1 < columns_) text += fmt::format(" {} ", step(row + x, row + x + 1, "→", "←"));
        }
        return trimmed(fmt::format("{} {}", text, step_round(row)));
    }
    std::string draw_steps(int row) const {
        std::string text = "  ";
        for (int x = 0; x < columns_; ++x) {
            const char* const arrow = step(row + x, row + columns_ + x, "↓", "↑");
            text += fmt::format("{:>{}}{}", "", width_ - 1, arrow) + (x + 1 < columns_ ? "   " : "");
        }
        return trimmed(text);
    }
    static std::string trimmed(std::string text) {
        text.erase(text.find_last_not_of(' ') + 1);
        return text + "\n";
    }
    // "z 1", of a grid with planes.
    std::string heading_of_plane(int first) const {
        std::string text;
        int rest = first / (columns_ * rows_);
        for (std::size_t dimension = 2; dimension < grid_.extents.size(); ++dimension) {
            const std::string name = dimension == 2 ? "z" : fmt::format("dimension {}", dimension + 1);
            text += fmt::format("{}{} {}", text.empty() ? "  " : ", ", name, rest % grid_.extents[dimension]);
            rest /= grid_.extents[dimension];
        }
        return text.empty() ? "" : text + "\n";
    }

    const HostOrder& order_;
    const Grid& grid_;
    std::vector<int> places_;  // of each cell in the path
    int columns_ = 1;
    int rows_ = 1;
    std::size_t width_ = 0;
};

int links_between_ends(const Grid& grid) {
    const std::vector<int> path = topology::path_through(grid);
    return topology::distance(grid, path.back(), path.front());
}

std::string draw_grid(const HostOrder& order, const Grid& grid) {
    std::string text = fmt::format("{} {}", grid.wraps ? "torus" : "mesh", shape(grid));
    if (const int links = links_between_ends(grid); grid.size() > 1) {
        text += links == 1
                    ? ": the path is closed, its end is next to its beginning"
                    : fmt::format(": from the end of the path back to its beginning are {} links", links);
    }
    return text + "\n" + GridDrawing(order, grid).draw();
}

}  // namespace

std::string draw_network(const HostOrder& order, std::size_t width) {
    std::string text;
    int next = 0;
    const auto draw_rest = [&](int end) {
        if (next < end) text += "hosts\n" + draw_row(order, next, end, width);
        next = end;
    };
    for (const Grid& grid : order.grids()) {
        draw_rest(grid.first);
        text += draw_grid(order, grid);
        next = grid.first + grid.size();
    }
    draw_rest(static_cast<int>(order.hosts().size()));
    return text;
}

nlohmann::ordered_json network_as_json(const HostOrder& order) {
    nlohmann::ordered_json grids = nlohmann::ordered_json::array();
    for (const Grid& grid : order.grids()) {
        grids.push_back({{"kind", grid.wraps ? "torus" : "mesh"},
                         {"extents", grid.extents},
                         {"first", grid.first},
                         {"links_from_end_to_beginning", grid.size() > 1 ? links_between_ends(grid) : 0}});
    }
    return {{"hosts", order.hosts()}, {"grids", grids}};
}

}  // namespace lapwing::tool
