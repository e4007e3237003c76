#include "engines/triggered/schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "base/error.hpp"

namespace lapwing::triggered {
namespace {

constexpr std::uint64_t alignment = alignof(std::max_align_t);

// The locations of the bytes of one memory of a list.
class Contents {
  public:
    struct Range {
        std::uint64_t end;
        Location place;  // of its first byte
    };

    void set(std::uint64_t from, std::uint64_t bytes, const Location& place) {
        if (bytes == 0) return;
        clear(from, from + bytes);
        ranges_[from] = {from + bytes, place};
    }
    // Calls take(location, bytes) for the parts of a span, in order. Returns false if a byte has no location.
    template <typename Take>
    bool visit(std::uint64_t from, std::uint64_t bytes, const Take& take) const {
        const std::uint64_t end = from + bytes;
        auto range = ranges_.upper_bound(from);
        if (range != ranges_.begin()) --range;
        for (; from < end; ++range) {
            if (range == ranges_.end() || range->first > from || range->second.end <= from) return false;
            Location place = range->second.place;
            place.offset += from - range->first;
            const std::uint64_t until = std::min(end, range->second.end);
            take(place, until - from);
            from = until;
        }
        return true;
    }
    const std::map<std::uint64_t, Range>& ranges() const { return ranges_; }

  private:
    void clear(std::uint64_t from, std::uint64_t end) {
        auto range = ranges_.lower_bound(from);
        if (range != ranges_.begin()) {
            const auto before = std::prev(range);
            const Range whole = before->second;
            if (whole.end > from) {
                before->second.end = from;
                if (whole.end > end) keep(end, whole, before->first);
            }
        }
        while (range != ranges_.end() && range->first < end) {
            const auto [first, whole] = *range;
            range = ranges_.erase(range);
            if (whole.end > end) keep(end, whole, first);
        }
    }
    // What is left of a range that began at `first`.
    void keep(std::uint64_t from, const Range& whole, std::uint64_t first) {
        Location place = whole.place;
        place.offset += from - first;
        ranges_[from] = {whole.end, place};
    }

    std::map<std::uint64_t, Range> ranges_;
};

bool follows(const Location& place, const Location& before, std::uint64_t bytes) {
    return place.memory == before.memory && place.peer == before.peer &&
           place.offset == before.offset + bytes;
}

class Maker {
  public:
    Maker(const List& list, Landing landing) : landing_(landing) {
        memory(Space::in).set(0, list.in_bytes, {Location::Memory::in, -1, 0});
        memory(Space::out).set(0, list.out_bytes, {Location::Memory::out, -1, 0});
        made_.levels.emplace_back();
        for (const Task& task : list.tasks) take(task);
        for (const auto& [peer, received] : received_) {
            const Exchange& known = exchange(peer);
            if (received.waited != known.messages_received)
                throw Error(ErrorCode::invalid_argument,
                            fmt::format("the list does not wait for all that rank {} sends", peer));
        }
        finish();
    }
    Schedule take() { return std::move(made_); }

  private:
    struct Received {
        std::vector<Span> targets;
        std::vector<Location> places;
        std::uint64_t waited = 0;
    };

    Contents& memory(Space space) { return memories_[static_cast<std::size_t>(space)]; }
    Exchange& exchange(std::int32_t peer) {
        Exchange& known = exchanges_[peer];
        known.peer = peer;
        return known;
    }

    void take(const Task& task) {
        switch (task.kind) {
            case Kind::recv:
                receive(task);
                break;
            case Kind::wait:
                wait(task);
                break;
            case Kind::send:
                send(task);
                break;
            case Kind::copy: {
                std::uint64_t at = task.target.offset;
                for (const Piece& piece : pieces(task.source)) {
                    memory(task.target.space).set(at, piece.bytes, piece.place);
                    at += piece.bytes;
                }
                break;
            }
            case Kind::reduce:
                reduce(task);
                break;
            case Kind::enable_send:
            case Kind::enable_recv:
                throw Error(ErrorCode::invalid_argument, "the list has no schedule");
        }
    }

    void receive(const Task& task) {
        Received& from = received_[task.peer];
        Exchange& known = exchange(task.peer);
        Location place{Location::Memory::slot, task.peer, known.slot_bytes};
        if (landing_ == Landing::direct && task.target.space == Space::out && task.target.length > 0)
            place = {Location::Memory::out, -1, task.target.offset};
        else
            known.slot_bytes += task.target.length;
        from.targets.push_back(task.target);
        from.places.push_back(place);
        known.bytes_received += task.target.length;
        ++known.messages_received;
        if (landing_ == Landing::direct) known.landings.push_back({place, task.target.length});
    }

    void wait(const Task& task) {
        Received& from = received_[task.peer];
        if (task.count > from.targets.size() - from.waited)
            throw Error(ErrorCode::invalid_argument,
                        fmt::format("the list waits for more than rank {} sends", task.peer));
        for (std::uint64_t i = 0; i < task.count; ++i, ++from.waited) {
            const Span& span = from.targets[from.waited];
            memory(span.space).set(span.offset, span.length, from.places[from.waited]);
        }
        for (std::vector<Arrival>* arrivals : {&since_send_, &since_stage_}) {
            const auto known = std::find_if(arrivals->begin(), arrivals->end(),
                                            [&](const Arrival& one) { return one.peer == task.peer; });
            if (known == arrivals->end())
                arrivals->push_back({task.peer, from.waited});
            else
                known->messages = from.waited;
        }
        stage_is_open_ = false;
    }

    void reduce(const Task& task) {
        if (task.target.length == 0) return;
        if (!stage_is_open_) made_.stages.push_back({std::exchange(since_stage_, {}), {}});
        stage_is_open_ = true;
        // The stage waits for these arrivals, and sends wait for the stage.
        since_send_.clear();
        const std::uint64_t result = made_.reduced_bytes;
        made_.stages.back().reductions.push_back(
            {task.op, task.type, pieces(task.source), pieces(task.target), task.target.length, result});
        memory(task.target.space)
            .set(task.target.offset, task.target.length, {Location::Memory::reduced, -1, result});
        // The caller's own operator may need aligned elements.
        made_.reduced_bytes += (task.target.length + alignment - 1) / alignment * alignment;
    }

    void send(const Task& task) {
        const auto stages = static_cast<std::uint32_t>(made_.stages.size());
        if (!since_send_.empty() || stages > awaited_stages_) {
            made_.levels.push_back({std::exchange(since_send_, {}), stages > awaited_stages_ ? stages : 0});
            awaited_stages_ = stages;
        }
        stage_is_open_ = false;
        Exchange& to = exchange(task.peer);
        const auto level = static_cast<std::uint32_t>(made_.levels.size() - 1);
        const std::vector<Piece> all = pieces(task.source);
        std::uint64_t within = 0;
        const auto write = [&](const Location& from, std::uint64_t bytes) {
            made_.writes.push_back(
                {task.peer, from, bytes, to.bytes_sent, false, level, to.messages_sent, within});
            to.bytes_sent += bytes;
            within += bytes;
        };
        for (const Piece& piece : all) {
            Location from = piece.place;
            std::uint64_t left = piece.bytes;
            for (; left > max_bytes_of_write; left -= max_bytes_of_write) {
                write(from, max_bytes_of_write);
                from.offset += max_bytes_of_write;
            }
            write(from, left);
        }
        if (all.empty()) write({}, 0);
        made_.writes.back().counts = true;
        ++to.messages_sent;
    }

    std::vector<Piece> pieces(const Span& span) {
        std::vector<Piece> found;
        const bool known =
            memory(span.space)
                .visit(span.offset, span.length, [&](const Location& place, std::uint64_t bytes) {
                    if (!found.empty() && follows(place, found.back().place, found.back().bytes))
                        found.back().bytes += bytes;
                    else
                        found.push_back({place, bytes});
                });
        if (!known) throw Error(ErrorCode::invalid_argument, "the list reads bytes that no task has written");
        return found;
    }

    void finish() {
        for (const auto& [from, range] : memory(Space::out).ranges()) {
            if (range.place.memory == Location::Memory::out && range.place.offset == from) continue;
            if (range.end > from) made_.moves.push_back({range.place, range.end - from, from});
        }
        for (const auto& [peer, known] : exchanges_) made_.exchanges.push_back(known);
    }

    const Landing landing_;
    Schedule made_;
    Contents memories_[3];
    std::map<std::int32_t, Received> received_;
    std::map<std::int32_t, Exchange> exchanges_;
    std::vector<Arrival> since_send_;  // arrivals that the list has waited for
    std::vector<Arrival> since_stage_;
    bool stage_is_open_ = false;  // no wait and no send has followed
    std::uint32_t awaited_stages_ = 0;
};

}  // namespace

std::uint32_t Schedule::awaited_stages() const {
    std::uint32_t most = 0;
    for (const Level& level : levels) most = std::max(most, level.stages);
    return most;
}

Verdict has_schedule(const List& list) {
    bool top = true;
    for (const Task& task : list.tasks) {
        if (task.kind == Kind::enable_send || task.kind == Kind::enable_recv)
            return Verdict::no("it enables queues");
        if (task.kind == Kind::recv && !top) return Verdict::no("a receive follows other tasks");
        top = top && (task.kind == Kind::recv);
    }
    return Verdict::yes();
}

Schedule schedule(const List& list, Landing landing) {
    return Maker(list, landing).take();
}

}  // namespace lapwing::triggered
