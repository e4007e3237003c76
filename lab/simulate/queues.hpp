// Priority queues of events by time. An Event has a member `time`; operator < orders events by time first.
#pragma once

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "simulate/time.hpp"

namespace lapwing::simulate {

// A calendar queue (Brown 1988). A bucket is as wide as the shortest time from an event to an event that it
// causes. Events of a bucket therefore add nothing to it, and each bucket is sorted once.
template <class Event>
class CalendarQueue {
  public:
    explicit CalendarQueue(Time width) : width_(width), ring_(days) {}

    // Events must not be earlier than bucket_end().
    void push(const Event& event) {
        const Time day = event.time / width_;
        if (day < today_ + static_cast<Time>(days)) {
            std::vector<Event>& bucket = ring_[static_cast<std::size_t>(day) % days];
            if (bucket.capacity() == 0 && !spare_.empty()) {
                bucket = std::move(spare_.back());
                spare_.pop_back();
            }
            bucket.push_back(event);
            ++near_;
        } else {
            far_[day].push_back(event);
        }
    }

    bool empty() const { return near_ == 0 && far_.empty(); }
    Time bucket_end() const { return today_ * width_; }  // of the bucket that was taken last

    // Takes all events of the next bucket that is not empty, in order. The queue must not be empty.
    void take(std::vector<Event>& events) {
        events.clear();
        if (near_ == 0) today_ = std::max(today_, far_.begin()->first);
        while (ring_[static_cast<std::size_t>(today_) % days].empty() &&
               (far_.empty() || far_.begin()->first != today_))
            ++today_;
        // Reuse the memory of a few buckets, not of the whole ring.
        if (spare_.size() < max_spare) spare_.push_back(std::move(events));
        events = std::move(ring_[static_cast<std::size_t>(today_) % days]);
        ring_[static_cast<std::size_t>(today_) % days] = {};
        near_ -= events.size();
        if (!far_.empty() && far_.begin()->first == today_) {
            const std::vector<Event>& more = far_.begin()->second;
            events.insert(events.end(), more.begin(), more.end());
            far_.erase(far_.begin());
        }
        std::sort(events.begin(), events.end());
        ++today_;
    }

  private:
    static constexpr std::size_t days = 4096;
    static constexpr std::size_t max_spare = 4;

    const Time width_;
    std::vector<std::vector<Event>> ring_;  // from today_ on
    std::map<Time, std::vector<Event>> far_;
    std::vector<std::vector<Event>> spare_;
    Time today_ = 0;
    std::size_t near_ = 0;
};

// A binary heap, with the interface of CalendarQueue and buckets of one event. An event may cause others at
// the same time, which a CalendarQueue does not allow.
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
