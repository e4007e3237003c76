// The runs of a group that are in flight, by small numbers that completions carry.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engines/kernel/run.hpp"

namespace lapwing::kernel {

class RunTable {
  public:
    void add(KernelRun& run) {
        if (free_.empty()) {
            run.id = static_cast<std::uint32_t>(runs_.size());
            runs_.push_back(&run);
        } else {
            run.id = free_.back();
            free_.pop_back();
            runs_[run.id] = &run;
        }
    }
    void remove(const KernelRun& run) {
        runs_[run.id] = nullptr;
        free_.push_back(run.id);
    }
    // Returns null if the run is no longer in flight.
    KernelRun* find(std::uint32_t id) const { return runs_[id]; }
    std::size_t size() const { return runs_.size() - free_.size(); }
    // By id; null where an id is free.
    const std::vector<KernelRun*>& by_id() const { return runs_; }

  private:
    std::vector<KernelRun*> runs_;
    std::vector<std::uint32_t> free_;
};

}  // namespace lapwing::kernel
