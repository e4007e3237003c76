// The drawing of queues: for each rank its receive queues, its management queue and its send queues, side by
// side. Read from left to right: a receive completes, a wait goes on, a send is enabled.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "task/dot_writer.hpp"
#include "task/drawing.hpp"
#include "task/text.hpp"

namespace lapwing {
namespace {

using Edge = DotWriter::Edge;
using Line = DotWriter::Line;
using Node = DotWriter::Node;

constexpr double column_gap = 70;
constexpr double rank_gap = 60;
constexpr std::string_view completes = "#2d7d46";
constexpr std::string_view enables = "#1f5fa8";

class QueueDrawing {
  public:
    QueueDrawing(std::span<const Queues> queues, const std::string& title) : all_(queues), dot_(title) {}

    std::string draw() {
        std::size_t longest = 18;  // "receive queue from"
        for (const Queues& queues : all_) {
            for (const Task& task : queues.management) longest = std::max(longest, print(task).size());
            for (const PeerQueues& peer : queues.peers) {
                for (const auto* queue : {&peer.send, &peer.receive}) {
                    for (const QueuedTask& queued : *queue) {
                        longest = std::max(longest, print(queued.task).size());
                    }
                }
            }
        }
        width_ = DotWriter::width(longest);
        // Two ranks side by side, the next two below them.
        double bottom = 0;
        for (std::size_t i = 0; i < all_.size(); ++i) {
            if (i % 2 == 0) top_ = bottom;
            const double left = static_cast<double>(i % 2) * (3 * width_ + 2 * column_gap + rank_gap);
            bottom = std::max(bottom, draw_rank(all_[i], left) + 2 * row_height);
        }
        return dot_.finish();
    }

  private:
    // One queue's boxes, and how many of them were reached by arrows from or to the management queue.
    struct Drawn {
        std::vector<Node> boxes;
        std::size_t reached = 0;
    };
    struct Peer {
        Drawn send;
        Drawn receive;
    };

    // A queue with its heading from `y` on; moves `y` behind it.
    Drawn draw_queue(const std::string& heading, const std::vector<QueuedTask>& queue, double x, double& y) {
        Drawn drawn;
        if (queue.empty()) return drawn;
        dot_.words({x, y}, heading);
        y += row_height;
        for (const QueuedTask& queued : queue) {
            const char* const how = queued.enabled ? "enabled" : "not enabled";
            drawn.boxes.push_back(dot_.box({x, y}, width_, queued.task.kind, print(queued.task),
                                           fmt::format("posted {}: {}", how, meaning(queued.task.kind)),
                                           queued.enabled ? Line::solid : Line::dashed));
            y += row_height;
        }
        y += row_height / 2;
        return drawn;
    }

    // Arrows between one task of the management queue and the next `count` tasks of a queue.
    void connect(Node task, Edge edge, Drawn& queue, std::uint64_t count, bool completion) {
        const Edge there = edge == Edge::left ? Edge::right : Edge::left;
        for (; count > 0 && queue.reached < queue.boxes.size(); --count) {
            const Node box = queue.boxes[queue.reached++];
            if (completion) {
                dot_.arrow({box, there}, {task, edge}, completes, Line::dashed);
            } else {
                dot_.arrow({task, edge}, {box, there}, enables);
            }
        }
    }

    // Says how far down the drawing of this rank comes.
    double draw_rank(const Queues& queues, double left) {
        const double middle = left + width_ + column_gap;
        const double right = middle + width_ + column_gap;
        dot_.words({middle, top_ - row_height}, fmt::format("rank {}", queues.rank), "#1f5fa8", true);
        std::unordered_map<int, Peer> peers;
        std::unordered_map<int, const std::vector<QueuedTask>*> sends;
        double send_y = top_;
        double receive_y = top_;
        for (const PeerQueues& peer : queues.peers) {
            sends[peer.peer] = &peer.send;
            peers[peer.peer].receive =
                draw_queue(fmt::format("receive queue from {}", peer.peer), peer.receive, left, receive_y);
        }
        // In the order in which they are enabled, so that fewer arrows cross.
        for (const Task& task : queues.management) {
            if (task.kind != Kind::enable_send) continue;
            const std::vector<QueuedTask>*& queue = sends[task.peer];
            if (queue == nullptr) continue;
            peers[task.peer].send =
                draw_queue(fmt::format("send queue to {}", task.peer), *queue, right, send_y);
            queue = nullptr;
        }
        return std::max({send_y, receive_y, draw_management(queues, middle, peers)});
    }

    double draw_management(const Queues& queues, double x, std::unordered_map<int, Peer>& peers) {
        double y = top_;
        dot_.words({x, y}, "management queue");
        // A receive that was posted enabled gets no enable: those that do come behind it in their queue.
        std::unordered_map<int, Drawn> held;
        for (const PeerQueues& peer : queues.peers) {
            const std::vector<Node>& boxes = peers[peer.peer].receive.boxes;
            for (std::size_t i = 0; i < boxes.size(); ++i) {
                if (!peer.receive[i].enabled) held[peer.peer].boxes.push_back(boxes[i]);
            }
        }
        for (const Task& task : queues.management) {
            y += row_height;
            const Node box = dot_.box({x, y}, width_, task.kind, print(task), meaning(task.kind));
            if (task.kind == Kind::wait) connect(box, Edge::left, peers[task.peer].receive, task.count, true);
            if (task.kind == Kind::enable_recv) connect(box, Edge::left, held[task.peer], task.count, false);
            if (task.kind == Kind::enable_send) {
                connect(box, Edge::right, peers[task.peer].send, task.count, false);
            }
        }
        y += row_height;
        dot_.words({x, y}, queues.management.empty() ? "empty" : "the last one signals");
        return y + row_height;
    }

    std::span<const Queues> all_;
    DotWriter dot_;
    double width_ = 0;
    double top_ = 0;  // of the ranks that are being drawn
};

}  // namespace

std::string draw(std::span<const Queues> queues, const std::string& title) {
    return QueueDrawing(queues, title).draw();
}

}  // namespace lapwing
