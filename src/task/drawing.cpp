// The drawing of lists: a column per rank, and the messages between them.
#include "task/drawing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <unordered_map>
#include <utility>

#include "task/dot_writer.hpp"
#include "task/text.hpp"

namespace lapwing {
namespace {

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
