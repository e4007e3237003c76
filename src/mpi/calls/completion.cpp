// The calls that complete requests, taken because one of their requests may be Lapwing's. Requests that are
// not go to the native MPI unseen; an array that holds both is completed by the MPI, to which Lapwing's
// are given as they complete.
#include "mpi/calls/completion.hpp"

#include <vector>

#include "base/clock.hpp"
#include "mpi/calls/exported.hpp"
#include "mpi/job/runtime.hpp"
#include "mpi/native/entry.hpp"
#include "mpi/native/guard.hpp"
#include "mpi/native/refusals.hpp"
#include "mpi/requests/in_flight.hpp"
#include "mpi/requests/request_wait.hpp"
#include "mpi/requests/timeline.hpp"

namespace lapwing {
namespace {

// Nothing of ours can be among the program's requests.
bool none_alive() {
    return live_requests == 0;
}

Request* find(MPI_Request handle) {
    const Entry entry;
    return find_request(handle);
}

Request* find_nonblocking(MPI_Request handle) {
    Request* const request = find(handle);
    return request == nullptr || request->persistence != nullptr ? nullptr : request;
}

std::vector<Request*> find(int count, const MPI_Request* handles) {
    const Entry entry;
    std::vector<Request*> found;
    for (int i = 0; i < count; ++i) {
        if (Request* request = find_request(handles[i])) found.push_back(request);
    }
    return found;
}

// Counts the time that the program spends waiting for these requests, in this call: shared among them
// equally.
class WaitClock {
  public:
    WaitClock(trace::Call call, Request* const* requests, std::size_t count)
        : call_(call), requests_(requests), count_(runtime.measures ? count : 0) {
        if (count_ == 0) return;
        const Entry entry;
        begin_ = nanoseconds();
        first_ = timeline::number(*requests_[0]);
        for (std::size_t i = 0; i < count_; ++i) {
            requests_[i]->waiting_since = begin_;
            if (i > 0) others_.push_back(requests_[i]->collective);
        }
        collective_ = requests_[0]->collective;
    }
    // Before the requests are given back.
    void stop() {
        if (count_ == 0) return;
        const Entry entry;
        stop_inside();
    }
    // The same inside Entry.
    void stop_inside() {
        if (count_ == 0) return;
        // It may just have completed: clocks are not read for nothing.
        const bool just = count_ == 1 && requests_[0]->completed >= begin_;
        const std::uint64_t end = just ? requests_[0]->completed : nanoseconds();
        const std::uint64_t spent = end - begin_;
        timeline::called(call_, begin_, end, first_, count_);
        for (std::size_t i = 0; i < count_; ++i) {
            requests_[i]->waited += spent;
            requests_[i]->waiting_since = 0;
            const Collective collective = i == 0 ? collective_ : others_[i - 1];
            runtime.report.of(collective).wait_time += spent / count_;
        }
        count_ = 0;
    }

  private:
    trace::Call call_;
    Request* const* requests_;
    std::size_t count_;
    std::uint64_t begin_ = 0;
    std::uint32_t first_ = 0;  // of the requests, in a trace
    Collective collective_{};  // of the first
    std::vector<Collective> others_;
};

// Gives a complete request back; returns its error. A persistent one is inactive then.
int take_completion(Request& request, MPI_Request* handle, MPI_Status* status) {
    set_empty(status);
    const int error = request.error;
    if (request.persistence == nullptr) *handle = MPI_REQUEST_NULL;
    give_back(request);
    return error;
}

// What a look at a request has shown to a call that waits for it.
struct Seen {
    bool complete = false;
    bool with_mpi = false;  // which must complete it
    int error = MPI_SUCCESS;
    MPI_Comm communicator{};  // of the error
};

// Of a request that is complete, inside Entry. It is given back.
Seen take(Request& request, MPI_Request* handle, MPI_Status* status, WaitClock* clock) {
    if (clock != nullptr) clock->stop_inside();
    Seen seen{.complete = true, .error = request.error, .communicator = request.group->communicator};
    // Progress of another call may have given it to the MPI, which would raise its error elsewhere.
    seen.with_mpi = is_with_mpi(request);
    if (seen.with_mpi)
        request.error = MPI_SUCCESS;
    else
        take_completion(request, handle, status);
    return seen;
}

// Inside Entry.
Seen look_at(Request& request, MPI_Request* handle, MPI_Status* status, WaitClock* clock = nullptr) {
    return progress(request) ? take(request, handle, status, clock) : Seen{};
}

int end_of_wait(const Seen& seen, MPI_Request* handle, MPI_Status* status) {
    const int error = seen.with_mpi ? PMPI_Wait(handle, status) : MPI_SUCCESS;
    return seen.error != MPI_SUCCESS ? raise(seen.communicator, seen.error) : error;
}

// Errors of complete requests of ours are raised by Lapwing: the MPI would not know whose error handler to
// call.
struct Failure {
    int place = -1;  // in the array; -1: none
    int error = MPI_SUCCESS;
    MPI_Comm communicator{};
};

Failure find_failure(int count, const MPI_Request* handles) {
    const Entry entry;
    for (int i = 0; i < count; ++i) {
        const Request* request = find_request(handles[i]);
        if (request != nullptr && request->state != Request::State::running && request->error != MPI_SUCCESS)
            return {i, request->error, request->group->communicator};
    }
    return {};
}

// Completes the request at that place, which may as well have succeeded.
void complete_failed(const Failure& failure, MPI_Request* handles, MPI_Status* status) {
    Request* request = nullptr;
    bool in_mpi = false;
    {
        const Entry entry;
        request = find_request(handles[failure.place]);
        in_mpi = is_with_mpi(*request);
        if (in_mpi)
            request->error = MPI_SUCCESS;
        else
            take_completion(*request, &handles[failure.place], status);
    }
    // A persistent one becomes inactive there; its own error handler is silent.
    if (in_mpi) PMPI_Wait(&handles[failure.place], MPI_STATUS_IGNORE);
    set_empty(status);
    if (status != MPI_STATUS_IGNORE) status->MPI_ERROR = failure.error;
}

// Of an array whose requests of ours are all complete, and one of them has failed.
int wait_for_all_with_failure(int count, MPI_Request* handles, MPI_Status* statuses, const Failure& first) {
    std::vector<MPI_Request> others(handles, handles + count);
    for (MPI_Request& handle : others) {
        if (find(handle) != nullptr) handle = MPI_REQUEST_NULL;
    }
    const bool wanted = statuses != MPI_STATUSES_IGNORE;
    const int error = PMPI_Waitall(count, others.data(), statuses);
    for (int i = 0; i < count; ++i) {
        if (wanted && error == MPI_SUCCESS) statuses[i].MPI_ERROR = MPI_SUCCESS;
        if (const Request* request = find(handles[i]); request == nullptr) {
            handles[i] = others[static_cast<std::size_t>(i)];
        } else {
            complete_failed({i, request->error, MPI_COMM_NULL}, handles,
                            wanted ? &statuses[i] : MPI_STATUS_IGNORE);
        }
    }
    return raise(first.communicator, MPI_ERR_IN_STATUS);
}

// Moves what runs, and completes in the MPI what is complete, before the MPI looks at an array.
void prepare_mpi(const std::vector<Request*>& ours) {
    const Entry entry;
    progress();
    for (Request* request : ours) {
        give_to_mpi(*request);
        if (request->persistence != nullptr && request->state == Request::State::running)
            request->persistence->handle.start(request->handle);
    }
}

// For the calls that look once at an array of requests.
template <typename Native>
int look(trace::Call call, int count, const MPI_Request* handles, Native native) {
    if (!none_alive() && handles != nullptr) {
        const std::vector<Request*> ours = find(count, handles);
        if (!ours.empty()) {
            WaitClock clock(call, ours.data(), ours.size());
            prepare_mpi(ours);
            clock.stop();
        }
    }
    return native();
}

// For the calls that wait until something in an array has happened: `native` looks once whether it has.
template <typename Blocking, typename Native>
int look_until(trace::Call call, int count, const MPI_Request* handles, Blocking blocking, Native native) {
    if (none_alive() || handles == nullptr) return blocking();
    const std::vector<Request*> ours = find(count, handles);
    if (ours.empty()) return blocking();
    WaitClock clock(call, ours.data(), ours.size());
    for (RequestWait request_wait;;) {
        prepare_mpi(ours);
        bool happened = false;
        const int error = native(&happened);
        if (happened || error != MPI_SUCCESS) {
            clock.stop();
            return error;
        }
        request_wait.pause(ours.data(), ours.size());
    }
}

}  // namespace

int wait_for(Request& request, MPI_Request* handle, MPI_Status* status, trace::Call call) {
    Request* const one = &request;
    WaitClock clock(call, &one, 1);
    Seen seen;
    for (RequestWait request_wait;;) {
        {
            const Entry entry;
            seen = look_at(request, handle, status, &clock);
        }
        if (seen.complete) break;
        request_wait.pause(&one, 1);
    }
    return end_of_wait(seen, handle, status);
}

}  // namespace lapwing

using namespace lapwing;

LAPWING_MPI MPI_Wait(MPI_Request* handle, MPI_Status* status) {
    if (none_alive() || handle == nullptr) return PMPI_Wait(handle, status);
    return guarded([&]() -> int {
        Request* request = nullptr;
        Seen seen;
        {
            const Entry entry;
            request = find_request(*handle);
            if (request != nullptr && !runtime.measures) seen = look_at(*request, handle, status);
        }
        if (request == nullptr) return PMPI_Wait(handle, status);
        return seen.complete ? end_of_wait(seen, handle, status) : wait_for(*request, handle, status);
    });
}

LAPWING_MPI MPI_Test(MPI_Request* handle, int* flag, MPI_Status* status) {
    if (none_alive() || handle == nullptr || flag == nullptr) return PMPI_Test(handle, flag, status);
    return guarded([&]() -> int {
        Request* request = find(*handle);
        if (request == nullptr) return PMPI_Test(handle, flag, status);
        WaitClock clock(trace::Call::test, &request, 1);
        Seen seen;
        {
            const Entry entry;
            if (test(*request)) seen = take(*request, handle, status, &clock);
        }
        clock.stop();
        *flag = seen.complete ? 1 : 0;
        if (seen.complete) return end_of_wait(seen, handle, status);
        after_unsuccessful_test();
        return MPI_SUCCESS;
    });
}

LAPWING_MPI MPI_Waitall(int count, MPI_Request handles[], MPI_Status statuses[]) {
    if (none_alive() || count <= 0 || handles == nullptr) return PMPI_Waitall(count, handles, statuses);
    return guarded([&]() -> int {
        const std::vector<Request*> ours = find(count, handles);
        if (ours.empty()) return PMPI_Waitall(count, handles, statuses);
        WaitClock clock(trace::Call::waitall, ours.data(), ours.size());
        // Ends before the native MPI waits for the others: the progress thread has to be there then.
        for (RequestWait request_wait;;) {
            bool complete = true;
            {
                const Entry entry;
                for (Request* request : ours) complete = test(*request) && complete;
            }
            if (complete) break;
            request_wait.pause(ours.data(), ours.size());
        }
        clock.stop();
        if (const Failure failure = find_failure(count, handles); failure.place >= 0)
            return wait_for_all_with_failure(count, handles, statuses, failure);
        {
            const Entry entry;
            bool simple = true;
            for (int i = 0; i < count && simple; ++i) {
                if (handles[i] == MPI_REQUEST_NULL) continue;
                Request* request = find_request(handles[i]);
                simple = request != nullptr && request->state == Request::State::complete &&
                         request->error == MPI_SUCCESS && !is_with_mpi(*request);
            }
            if (simple) {
                for (int i = 0; i < count; ++i) {
                    MPI_Status* status = statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
                    if (handles[i] == MPI_REQUEST_NULL) {
                        set_empty(status);
                    } else {
                        take_completion(*find_request(handles[i]), &handles[i], status);
                    }
                }
                return MPI_SUCCESS;
            }
            for (Request* request : ours) give_to_mpi(*request);
        }
        return PMPI_Waitall(count, handles, statuses);
    });
}

LAPWING_MPI MPI_Testall(int count, MPI_Request handles[], int* flag, MPI_Status statuses[]) {
    return guarded([&] {
        return look(trace::Call::testall, count, handles,
                    [&] { return PMPI_Testall(count, handles, flag, statuses); });
    });
}

LAPWING_MPI MPI_Testany(int count, MPI_Request handles[], int* index, int* flag, MPI_Status* status) {
    return guarded([&] {
        return look(trace::Call::testany, count, handles,
                    [&] { return PMPI_Testany(count, handles, index, flag, status); });
    });
}

LAPWING_MPI MPI_Testsome(int count, MPI_Request handles[], int* completed, int indices[],
                         MPI_Status statuses[]) {
    return guarded([&] {
        return look(trace::Call::testsome, count, handles,
                    [&] { return PMPI_Testsome(count, handles, completed, indices, statuses); });
    });
}

LAPWING_MPI MPI_Waitany(int count, MPI_Request handles[], int* index, MPI_Status* status) {
    return guarded([&] {
        return look_until(
            trace::Call::waitany, count, handles, [&] { return PMPI_Waitany(count, handles, index, status); },
            [&](bool* happened) {
                int flag = 0;
                const int error = PMPI_Testany(count, handles, index, &flag, status);
                *happened = flag != 0;
                return error;
            });
    });
}

LAPWING_MPI MPI_Waitsome(int count, MPI_Request handles[], int* completed, int indices[],
                         MPI_Status statuses[]) {
    return guarded([&] {
        return look_until(
            trace::Call::waitsome, count, handles,
            [&] { return PMPI_Waitsome(count, handles, completed, indices, statuses); },
            [&](bool* happened) {
                const int error = PMPI_Testsome(count, handles, completed, indices, statuses);
                *happened = *completed != 0;
                return error;
            });
    });
}

LAPWING_MPI MPI_Request_get_status(MPI_Request handle, int* flag, MPI_Status* status) {
    return guarded([&]() -> int {
        if (Request* request = none_alive() || flag == nullptr ? nullptr : find(handle); request != nullptr) {
            WaitClock clock(trace::Call::get_status, &request, 1);
            bool done = false;
            {
                const Entry entry;
                // MPICH 5 takes a look at a persistent request for its completion.
                done = !is_with_mpi(*request);
                if (done) *flag = test(*request) ? 1 : 0;
                if (done && *flag != 0) set_empty(status);
            }
            clock.stop();
            if (done) return MPI_SUCCESS;
        }
        return look(trace::Call::get_status, 1, &handle,
                    [&] { return PMPI_Request_get_status(handle, flag, status); });
    });
}

// The standard forbids it for nonblocking collectives; Open MPI takes those that are complete.
LAPWING_MPI MPI_Request_free(MPI_Request* handle) {
    if ((none_alive() && persistent_requests == 0) || handle == nullptr) return PMPI_Request_free(handle);
    return guarded([&]() -> int {
        Request* const nonblocking = find_nonblocking(*handle);
        const int answer = nonblocking == nullptr ? MPI_SUCCESS : answer_for_collective(PMPI_Request_free);
        if (answer != MPI_SUCCESS) return answer;
        bool active = false;
        {
            const Entry entry;
            Request* const request = nonblocking != nullptr ? nonblocking : find_persistent(*handle);
            active = nonblocking != nullptr && !test(*nonblocking);
            if (request != nullptr && !active && request->state != Request::State::given_to_mpi) {
                // A persistent one goes on, and is given back at its end.
                request->forgotten = request->persistence != nullptr;
                if (request->state != Request::State::running) give_back(*request);
                *handle = MPI_REQUEST_NULL;
                return MPI_SUCCESS;
            }
        }
        return active ? raise(MPI_COMM_WORLD, MPI_ERR_REQUEST) : PMPI_Request_free(handle);
    });
}

// The standard forbids it for collectives. The MPI would cancel the receive that stands for a persistent one.
LAPWING_MPI MPI_Cancel(MPI_Request* handle) {
    if ((none_alive() && persistent_requests == 0) || handle == nullptr) return PMPI_Cancel(handle);
    return guarded([&]() -> int {
        bool ours = false;
        {
            const Entry entry;
            ours = find_request(*handle) != nullptr || find_persistent(*handle) != nullptr;
        }
        if (!ours) return PMPI_Cancel(handle);
        const int error = answer_for_collective(PMPI_Cancel);
        // Open MPI has nothing to say against it for its own that is complete.
        return error == MPI_SUCCESS ? raise(MPI_COMM_WORLD, MPI_ERR_REQUEST) : error;
    });
}
