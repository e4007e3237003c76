// The runs of a group that are in flight, by small numbers which completions carry.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engines/kernel/run.hpp"

namespace lapwing::kernel {

class RunTable {
  public:
    void add(Run& run) {
        if (free_.empty()) {
            run.id = static_cast<std::uint32_t>(runs_.size());
            runs_.push_back(&run);
        } else {
            run.id = free_.back();
            free_.pop_back();
            runs_[run.id] = &run;
        }
    }
    void remove(const Run& run) {
        runs_[run.id] = nullptr;
        free_.push_back(run.id);
    }
    // Null when it is over.
    Run* find(std::uint32_t id) const { return runs_[id]; }
    std::size_t size() const { return runs_.size() - free_.size(); }
    // By id; null where a number is free.
    const std::vector<Run*>& by_id() const { return runs_; }

  private:
    std::vector<Run*> runs_;
    std::vector<std::uint32_t> free_;
};

}  // namespace lapwing::kernel
