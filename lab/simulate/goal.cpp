#include "simulate/goal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <iterator>
#include <map>
#include <utility>

#include "base/error.hpp"

namespace lapwing::simulate {
namespace {

// One rank's block.
class Schedule {
  public:
    Schedule(const List& list, const Parameters& parameters) : list_(list), parameters_(parameters) {}

    std::string print() {
        text_ = fmt::format("rank {} {{\n", list_.rank);
        for (const Task& task : list_.tasks) add(task);
        text_ += "}\n";
        return std::move(text_);
    }

  private:
    void add(const Task& task) {
        switch (task.kind) {
            case Kind::recv:
                posted_[task.peer].push_back(
                    line(fmt::format("recv {}b from {} tag 0", on_the_wire(task.target.length), task.peer)));
                return;
            case Kind::wait:
                for (std::uint64_t i = 0; i < task.count; ++i) {
                    waited_.push_back(posted_[task.peer].front());
                    posted_[task.peer].pop_front();
                }
                return;
            case Kind::send: {
                const int label =
                    line(fmt::format("send {}b to {} tag 0", on_the_wire(task.source.length), task.peer));
                depend(label);
                last_send_ = label;
                return;
            }
            case Kind::copy:
            case Kind::reduce: {
                double picoseconds = static_cast<double>(task.target.length) * parameters_.copy_per_byte;
                if (task.kind == Kind::copy) picoseconds += static_cast<double>(parameters_.copy);
                const int label = line(fmt::format("calc {}", std::llround(picoseconds / nanosecond)));
                depend(label);
                waited_.push_back(label);
                return;
            }
            case Kind::enable_send:
            case Kind::enable_recv:
                throw Error(
                    ErrorCode::unsupported,
                    fmt::format("the list of rank {} has enable tasks, which lowering makes", list_.rank));
        }
    }

    static std::uint64_t on_the_wire(std::uint64_t bytes) { return std::max<std::uint64_t>(bytes, 1); }

    int line(const std::string& operation) {
        text_ += fmt::format("l{}: {}\n", ++labels_, operation);
        return labels_;
    }

    void depend(int label) {
        for (const int before : waited_) text_ += fmt::format("l{} requires l{}\n", label, before);
        if (last_send_ != 0) text_ += fmt::format("l{} irequires l{}\n", label, last_send_);
        waited_.clear();
    }

    const List& list_;
    const Parameters& parameters_;
    std::string text_;
    int labels_ = 0;
    int last_send_ = 0;
    std::map<int, std::deque<int>> posted_;  // by peer: receives without a wait so far
    std::vector<int> waited_;                // operations that the next operation requires
};

}  // namespace

std::string print_goal(std::span<const List> lists, const Parameters& parameters) {
    std::string text = fmt::format("num_ranks {}\n", lists.size());
    for (const List& list : lists) {
        text += "\n";
        text += Schedule(list, parameters).print();
    }
    return text;
}

}  // namespace lapwing::simulate
