// A priority queue of events by time: a binary heap. An event may cause others at the same time, which a
// CalendarQueue does not allow.
#pragma once

#include <algorithm>
#include <vector>

#include "simulate/time.hpp"

namespace lapwing::simulate {

// The interface of CalendarQueue, with buckets of one event.
template <class Event>
class HeapQueue {
  public:
    explicit HeapQueue(Time /*shortest*/) {}

    void push(const Event& event) {
        heap_.push_back(event);
        std::push_heap(heap_.begin(), heap_.end(), later);
    }
    bool empty() const { return heap_.empty(); }
    Time bucket_end() const { return end_; }
    void take(std::vector<Event>& events) {
        std::pop_heap(heap_.begin(), heap_.end(), later);
        events.assign(1, heap_.back());
        heap_.pop_back();
        end_ = events.front().time + 1;
    }

  private:
    static bool later(const Event& one, const Event& other) { return other < one; }

    std::vector<Event> heap_;
    Time end_ = 0;
};

}  // namespace lapwing::simulate
