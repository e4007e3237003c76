// The book of the program's requests that Lapwing watches: lists, collectives that the native MPI runs, and
// large messages. Each has one entry, found by its handle, with one state, from which the counts derive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "mpi/native/entry.hpp"
#include "watch/journal.hpp"

namespace lapwing {

enum class RequestState : std::uint8_t {
    inactive,  // unused, or persistent and not started
    running,   // started
    arrived,   // a list that is complete but for what only a call of the program can do
    complete,  // a list whose completion the program has not seen
    with_mpi,  // a list that Lapwing has completed in the MPI, which frees the handle; not persistent
};
enum class RequestEvent : std::uint8_t {
    start,
    arrive,
    complete,
    give,  // to the MPI
    end,   // the program has seen the completion, or will not ask for it
};
// Nothing if the event cannot happen in this state. A request that the native MPI runs is inactive or
// running.
constexpr std::optional<RequestState> next(RequestState state, RequestEvent event) {
    using Event = RequestEvent;
    using enum RequestState;
    if (event == Event::start && state == inactive) return running;
    if (event == Event::arrive && state == running) return arrived;
    if (event == Event::complete && (state == running || state == arrived)) return complete;
    if (event == Event::give && state == complete) return with_mpi;
    if (event == Event::end && state != inactive && state != arrived) return inactive;
    return std::nullopt;
}

// An entry of the book. Its owner (requests/request_table.hpp, requests/native_requests.hpp) keeps it.
struct WatchedRequest {
    enum class RunBy : std::uint8_t { lapwing, mpi };
    explicit WatchedRequest(RunBy who) : run_by(who) {}

    const RunBy run_by;
    bool is_persistent = false;
    std::uint64_t bytes = 0;  // by the native MPI, which Lapwing's thread moves; 0: none
    RequestState state = RequestState::inactive;
    watch::CallId recorded;               // in the journal; of a collective
    watch::CallRecord* starts = nullptr;  // of a persistent collective; may be null

    // In the journal: this rank's part of the collective is complete.
    void record_completion() const {
        if (starts != nullptr)
            starts->stop();
        else if (recorded.communicator != nullptr)
            recorded.communicator->completed(recorded.serial);
    }
};

// All functions inside Entry; the counts may be read outside of it.
class RequestBook {
  public:
    // Requests that a call may complete: 0 if the native MPI alone knows all requests of the program.
    const Count& alive() const { return alive_; }
    // Lists whose completion the program has not seen, and those of them that can advance.
    const Count& lists() const { return lists_; }
    const Count& running_lists() const { return running_lists_; }
    // Requests that the native MPI runs, and those of them that Lapwing's thread moves.
    const Count& native() const { return native_; }
    const Count& moving() const { return moving_; }
    // Persistent requests that the program has not freed.
    const Count& persistent() const { return persistent_; }

    // Null if the request of this handle is not watched.
    WatchedRequest* find(std::uint64_t handle) const { return slots_[position(handle)].request; }
    // The MPI gives handles again: replaces what this handle was before.
    void insert(std::uint64_t handle, WatchedRequest& request);
    // Does nothing if another request has the handle by now.
    void erase(std::uint64_t handle, WatchedRequest& request);

    // An event that cannot happen changes nothing.
    [[gnu::always_inline]] void transition(WatchedRequest& request, RequestEvent event) {
        const Share before = share_of(request);
        request.state = next(request.state, event).value_or(request.state);
        const Share after = share_of(request);
        alive_.add(after.alive - before.alive);
        lists_.add(after.lists - before.lists);
        running_lists_.add(after.running_lists - before.running_lists);
        native_.add(after.native - before.native);
        moving_.add(after.moving - before.moving);
    }

  private:
    // What a request adds to the counts.
    struct Share {
        int alive, lists, running_lists, native, moving;
    };
    static Share share_of(const WatchedRequest& request) {
        const bool running = request.state == RequestState::running;
        if (request.run_by == WatchedRequest::RunBy::mpi)
            return {running, 0, 0, running, running && request.bytes != 0};
        const bool alive =
            running || request.state == RequestState::arrived || request.state == RequestState::complete;
        return {alive, alive, running, 0, 0};
    }
    struct Slot {
        std::uint64_t handle = 0;
        WatchedRequest* request = nullptr;
    };
    // Of the handle's slot, or of the free one where it belongs.
    std::size_t position(std::uint64_t handle) const {
        for (std::size_t at = (handle * 0x9e3779b97f4a7c15U) >> 40;; ++at) {
            const std::size_t wrapped = at & (slots_.size() - 1);
            if (slots_[wrapped].request == nullptr || slots_[wrapped].handle == handle) return wrapped;
        }
    }
    void place(const Slot& entry) { slots_[position(entry.handle)] = entry; }

    // Open addressing, because every wait of the program makes a look-up.
    std::vector<Slot> slots_ = std::vector<Slot>(64);
    std::size_t used_ = 0;
    Count alive_;
    Count lists_;
    Count running_lists_;
    Count native_;
    Count moving_;
    Count persistent_;
};

// Never destroyed: a program may exit without MPI_Finalize while another thread still uses it.
template <typename Object>
union NeverDestroyed {
    NeverDestroyed() : object() {}
    ~NeverDestroyed() {}
    Object object;
};
extern NeverDestroyed<RequestBook> never_destroyed_book;
inline RequestBook& request_book = never_destroyed_book.object;

}  // namespace lapwing
