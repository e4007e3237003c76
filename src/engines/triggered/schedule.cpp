#include "engines/triggered/schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.hpp"
#include "engines/triggered/works.hpp"

namespace lapwing::triggered {
namespace {

// Of one memory of a list: which bytes stand where.
class Contents {
  public:
    struct Piece {
        std::uint64_t end;
        Place place;  // of its first byte
    };

    void set(std::uint64_t from, std::uint64_t bytes, const Place& place) {
        if (bytes == 0) return;
        clear(from, from + bytes);
        pieces_[from] = {from + bytes, place};
    }
    // The places of a span, in its order; `take(place, bytes)`. False when some byte has none.
    template <typename Take>
    bool visit(std::uint64_t from, std::uint64_t bytes, const Take& take) const {
        const std::uint64_t end = from + bytes;
        auto piece = pieces_.upper_bound(from);
        if (piece != pieces_.begin()) --piece;
        for (; from < end; ++piece) {
            if (piece == pieces_.end() || piece->first > from || piece->second.end <= from) return false;
            Place place = piece->second.place;
            place.offset += from - piece->first;
            const std::uint64_t until = std::min(end, piece->second.end);
            take(place, until - from);
            from = until;
        }
        return true;
    }
    const std::map<std::uint64_t, Piece>& pieces() const { return pieces_; }

  private:
    void clear(std::uint64_t from, std::uint64_t end) {
        auto piece = pieces_.lower_bound(from);
        if (piece != pieces_.begin()) {
            const auto before = std::prev(piece);
            const Piece whole = before->second;
            if (whole.end > from) {
                before->second.end = from;
                if (whole.end > end) keep(end, whole, before->first);
            }
        }
        while (piece != pieces_.end() && piece->first < end) {
            const auto [first, whole] = *piece;
            piece = pieces_.erase(piece);
            if (whole.end > end) keep(end, whole, first);
        }
    }
    // What is left of a piece that began at `first`.
    void keep(std::uint64_t from, const Piece& whole, std::uint64_t first) {
        Place place = whole.place;
        place.offset += from - first;
        pieces_[from] = {whole.end, place};
    }

    std::map<std::uint64_t, Piece> pieces_;
};

bool follows(const Place& place, const Place& before, std::uint64_t bytes) {
    return place.memory == before.memory && place.peer == before.peer &&
           place.offset == before.offset + bytes;
}

class Maker {
  public:
    explicit Maker(const List& list) {
        memory(Space::in).set(0, list.in_bytes, {Place::Memory::in, -1, 0});
        memory(Space::out).set(0, list.out_bytes, {Place::Memory::out, -1, 0});
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
        std::vector<Task> tasks;
        std::vector<std::uint64_t> offsets;
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
            case Kind::recv: {
                Received& from = received_[task.peer];
                Exchange& known = exchange(task.peer);
                from.tasks.push_back(task);
                from.offsets.push_back(known.bytes_received);
                known.bytes_received += task.target.length;
                ++known.messages_received;
                break;
            }
            case Kind::wait:
                wait(task);
                break;
            case Kind::send:
                send(task);
                break;
            case Kind::copy: {
                std::vector<std::pair<Place, std::uint64_t>> places;
                visit(task.source,
                      [&](const Place& place, std::uint64_t bytes) { places.emplace_back(place, bytes); });
                std::uint64_t at = task.target.offset;
                for (const auto& [place, bytes] : places) {
                    memory(task.target.space).set(at, bytes, place);
                    at += bytes;
                }
                break;
            }
            case Kind::reduce:
            case Kind::enable_send:
            case Kind::enable_recv:
                throw Error(ErrorCode::invalid_argument, "the list has no schedule");
        }
    }

    void wait(const Task& task) {
        Received& from = received_[task.peer];
        if (task.count > from.tasks.size() - from.waited)
            throw Error(ErrorCode::invalid_argument,
                        fmt::format("the list waits for more than rank {} sends", task.peer));
        for (std::uint64_t i = 0; i < task.count; ++i, ++from.waited) {
            const Span& span = from.tasks[from.waited].target;
            memory(span.space)
                .set(span.offset, span.length, {Place::Memory::slot, task.peer, from.offsets[from.waited]});
        }
        const auto known = std::find_if(waits_.begin(), waits_.end(),
                                        [&](const Arrival& one) { return one.peer == task.peer; });
        if (known == waits_.end())
            waits_.push_back({task.peer, from.waited});
        else
            known->messages = from.waited;
    }

    void send(const Task& task) {
        if (!waits_.empty()) {
            made_.levels.push_back(std::move(waits_));
            waits_.clear();
        }
        Exchange& to = exchange(task.peer);
        const auto level = static_cast<std::uint32_t>(made_.levels.size() - 1);
        const std::size_t first = made_.writes.size();
        visit(task.source, [&](const Place& place, std::uint64_t bytes) {
            if (made_.writes.size() > first) {
                Write& last = made_.writes.back();
                if (follows(place, last.source, last.bytes)) {
                    last.bytes += bytes;
                    to.bytes_sent += bytes;
                    return;
                }
                last.counts = false;
            }
            made_.writes.push_back({task.peer, place, bytes, to.bytes_sent, true, level});
            to.bytes_sent += bytes;
        });
        if (made_.writes.size() == first)
            made_.writes.push_back({task.peer, {}, 0, to.bytes_sent, true, level});
        ++to.messages_sent;
    }

    template <typename Take>
    void visit(const Span& span, const Take& take) {
        if (!memory(span.space).visit(span.offset, span.length, take))
            throw Error(ErrorCode::invalid_argument, "the list reads what nothing has written");
    }

    void finish() {
        for (const auto& [from, piece] : memory(Space::out).pieces()) {
            if (piece.place.memory == Place::Memory::out && piece.place.offset == from) continue;
            if (piece.end > from) made_.moves.push_back({piece.place, piece.end - from, from});
        }
        for (const auto& [peer, known] : exchanges_) made_.exchanges.push_back(known);
    }

    Schedule made_;
    Contents memories_[3];
    std::map<std::int32_t, Received> received_;
    std::map<std::int32_t, Exchange> exchanges_;
    std::vector<Arrival> waits_;  // since the last send
};

// As if no peer had said that it is ready.
std::vector<Work> longest(const Schedule& schedule) {
    return works(schedule, [](std::int32_t) { return true; });
}

}  // namespace

Verdict has_schedule(const List& list) {
    bool top = true;
    for (const Task& task : list.tasks) {
        if (task.kind == Kind::reduce) return Verdict::no("it reduces, which a network card does not do");
        if (task.kind == Kind::enable_send || task.kind == Kind::enable_recv)
            return Verdict::no("it enables queues");
        if (task.kind == Kind::recv && !top) return Verdict::no("a receive stands behind other tasks");
        top = top && (task.kind == Kind::recv);
    }
    return Verdict::yes();
}

Schedule schedule(const List& list) {
    return Maker(list).take();
}

std::uint64_t most_entries(const Schedule& schedule) {
    std::uint64_t entries = 0;
    for (const Work& work : longest(schedule)) entries += entries_of(work);
    return entries;
}

std::uint64_t most_gates(const Schedule& schedule) {
    return gates_of(longest(schedule));
}

}  // namespace lapwing::triggered
