// The functions that complete requests. Requests of the MPI go to the native function. An array with requests
// of both kinds is tested by the MPI: Lapwing's requests are completed in the MPI as well.
#include "mpi/calls/completion.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "mpi/calls/recorded.hpp"
#include "mpi/job/recording.hpp"
#include "mpi/job/runtime.hpp"
#include "mpi/native/entry.hpp"
#include "mpi/native/gate.hpp"
#include "mpi/native/guard.hpp"
#include "mpi/requests/native_requests.hpp"
#include "mpi/requests/request_table.hpp"
#include "mpi/requests/request_wait.hpp"
#include "mpi/requests/timeline.hpp"
#include "task/problem.hpp"

namespace lapwing {
namespace {

// The time that the program spends in a call that waits for requests. It is divided equally among them. Does
// nothing where no clocks are read.
class WaitClock {
  public:
    // Outside of Entry.
    WaitClock(trace::Call call, std::span<Request* const> requests) : call_(call) {
        if (!runtime.measures || requests.empty()) return;
        requests_ = requests;
        const Entry entry;
        began_ = nanoseconds();
        first_ = timeline::number(*requests[0]);
        for (Request* request : requests) {
            request->waiting_since = began_;
            collectives_.push_back(request->collective);
        }
    }
    // Before the requests are released. Later calls do nothing.
    void stop() {
        if (requests_.empty()) return;
        const Entry entry;
        // A request that has just completed has read the clock already.
        const bool just = requests_.size() == 1 && requests_[0]->completed >= began_;
        const std::uint64_t end = just ? requests_[0]->completed : nanoseconds();
        const std::uint64_t spent = end - began_;
        trace::record({.began = began_,
                       .ended = end,
                       .operation = first_,
                       .index = static_cast<std::uint32_t>(requests_.size()),
                       .what = trace::What::call,
                       .kind = static_cast<std::uint8_t>(call_)});
        for (std::size_t i = 0; i < requests_.size(); ++i) {
            requests_[i]->waited += spent;
            requests_[i]->waiting_since = 0;
            runtime.report.of(collectives_[i]).wait_time += spent / requests_.size();
        }
        requests_ = {};
    }

  private:
    trace::Call call_;
    std::span<Request* const> requests_;  // empty: stopped
    std::uint64_t began_ = 0;
    std::uint32_t first_ = 0;              // the first request's number in a trace
    std::vector<Collective> collectives_;  // another thread may use a request again before stop()
};

// A call whose requests the native MPI completes.
template <typename Native>
int natively(int count, const MPI_Request* handles, Native native) {
    if (request_book.native() == 0) return native();
    NativeCompletion completion(count, handles);
    const int error = native();
    completion.done(handles);
    return error;
}

Request* find(MPI_Request handle) {
    const Entry entry;
    return request_table.find(handle);
}

std::vector<Request*> find(int count, const MPI_Request* handles) {
    std::vector<Request*> found;
    if (request_book.lists() == 0 || handles == nullptr) return found;
    const Entry entry;
    for (int i = 0; i < count; ++i) {
        if (Request* request = request_table.find(handles[i])) found.push_back(request);
    }
    return found;
}

// What a call that waits for a request has found.
struct Completion {
    bool complete = false;
    bool with_mpi = false;  // the MPI must complete it
    int error = MPI_SUCCESS;
    MPI_Comm communicator{};  // of the error
};

// Releases a complete request, unless the MPI must complete it. Inside Entry.
Completion take(Request& request, MPI_Request* handle, MPI_Status* status) {
    Completion completion{
        .complete = true, .error = request.error, .communicator = request.group->of_errors()};
    request.floating_point.raise();
    completion.with_mpi = request.completes_in_mpi();
    if (completion.with_mpi) {
        request_table.give_to_mpi(request);
        request.error = MPI_SUCCESS;  // raised by Lapwing, not by the MPI
    } else {
        set_empty(status);
        if (request.persistent == nullptr) *handle = MPI_REQUEST_NULL;
        request_table.release(request);
    }
    return completion;
}

int end_of_wait(const Completion& completion, MPI_Request* handle, MPI_Status* status) {
    const int error = completion.with_mpi ? PMPI_Wait(handle, status) : MPI_SUCCESS;
    return completion.error != MPI_SUCCESS ? raise(completion.communicator, completion.error) : error;
}

// Completes an array whose requests of Lapwing are complete. The MPI completes those that are left: to the
// MPI, the others are null or inactive. Lapwing raises errors of its requests, because the MPI would not know
// whose error handler to call.
template <typename Native>
int complete_all(int count, MPI_Request* handles, MPI_Status* statuses, Native native) {
    const bool wanted = statuses != MPI_STATUSES_IGNORE;
    bool any_left = false;
    std::optional<MPI_Comm> failed;  // of the first failed request; null if the communicator has been freed
    std::vector<std::pair<int, int>> errors;  // of failed requests, with their places in the array
    {
        const Entry entry;
        for (int i = 0; i < count; ++i) {
            MPI_Status* const status = wanted ? &statuses[i] : MPI_STATUS_IGNORE;
            Request* const request = request_table.find(handles[i]);
            if (request == nullptr) {
                any_left = any_left || handles[i] != MPI_REQUEST_NULL;
                if (handles[i] == MPI_REQUEST_NULL) set_empty(status);
                continue;
            }
            const Completion completion = take(*request, &handles[i], status);
            any_left = any_left || completion.with_mpi;
            if (completion.error == MPI_SUCCESS) continue;
            if (!failed) failed = completion.communicator;
            errors.emplace_back(i, completion.error);
        }
    }
    const int error = any_left ? native() : MPI_SUCCESS;
    if (!failed) return error;
    if (wanted) {
        for (int i = 0; error == MPI_SUCCESS && i < count; ++i) statuses[i].MPI_ERROR = MPI_SUCCESS;
        for (const auto& [i, own] : errors) statuses[i].MPI_ERROR = own;
    }
    return raise(*failed, MPI_ERR_IN_STATUS);
}

// Advances everything that runs. Completes in the MPI what is complete, before the MPI tests the array.
void prepare_mpi(const std::vector<Request*>& ours) {
    const Entry entry;
    request_table.progress();
    for (Request* request : ours) {
        request_table.give_to_mpi(*request);
        if (request->persistent != nullptr && request->in_flight()) request->persistent->handle.start();
    }
}

// A call that tests an array of requests once by the MPI, which sets `found`.
template <typename Native>
int test_array(trace::Call call, int count, const MPI_Request* handles, const int* found, Native native) {
    return guarded([&] {
        const std::vector<Request*> ours = find(count, handles);
        if (!ours.empty()) {
            record_test(ours);
            WaitClock clock(call, ours);
            prepare_mpi(ours);
            clock.stop();
        }
        return natively(count, handles, [&] { return look(found, native); });
    });
}

// A call that waits until some requests of an array are complete. `test(&happened)` tests once by the MPI.
template <typename Blocking, typename Test>
int wait_for_some(trace::Call call, int count, const MPI_Request* handles, Blocking blocking, Test test) {
    return guarded([&] {
        const std::vector<Request*> ours = find(count, handles);
        if (ours.empty()) return natively(count, handles, blocking);
        NativeCompletion completion(count, handles);
        WaitClock clock(call, ours);
        for (RequestWait request_wait;;) {
            prepare_mpi(ours);
            bool happened = false;
            const int error = test(&happened);
            if (happened || error != MPI_SUCCESS) {
                clock.stop();
                completion.done(handles);
                return error;
            }
            request_wait.pause(ours);
        }
    });
}

int wait(MPI_Request* handle, MPI_Status* status) {
    const auto native = [&] { return natively(1, handle, [&] { return NEXT_Wait(handle, status); }); };
    if (request_book.lists() == 0 || handle == nullptr) return native();
    return guarded([&]() -> int {
        Request* request = nullptr;
        Completion completion;
        {
            const Entry entry;
            request = request_table.find(*handle);
            // The short walk of a collective that completes at once.
            if (request != nullptr && !runtime.measures && request_table.progress(*request))
                completion = take(*request, handle, status);
        }
        if (request == nullptr) return native();
        if (completion.complete) return end_of_wait(completion, handle, status);
        return wait_for(*request, handle, status);
    });
}

int test(MPI_Request* handle, int* flag, MPI_Status* status) {
    const auto native = [&] {
        return natively(1, handle,
                        [&] { return look(flag, [&] { return NEXT_Test(handle, flag, status); }); });
    };
    if (request_book.lists() == 0 || handle == nullptr || flag == nullptr) return native();
    return guarded([&]() -> int {
        Request* const request = find(*handle);
        if (request == nullptr) return native();
        record_test({&request, 1});
        WaitClock clock(trace::Call::test, {&request, 1});
        Completion completion;
        {
            const Entry entry;
            const bool complete = request_table.test(*request);
            clock.stop();
            if (complete) completion = take(*request, handle, status);
        }
        *flag = completion.complete ? 1 : 0;
        if (completion.complete) return end_of_wait(completion, handle, status);
        after_unsuccessful_test();
        return MPI_SUCCESS;
    });
}

int waitall(int count, MPI_Request handles[], MPI_Status statuses[]) {
    const auto native = [&] {
        return natively(count, handles, [&] { return NEXT_Waitall(count, handles, statuses); });
    };
    // Not guarded: an error handler of the program may throw an exception of its own.
    if (request_book.lists() == 0) return native();
    return guarded([&]() -> int {
        const std::vector<Request*> ours = find(count, handles);
        if (ours.empty()) return native();
        WaitClock clock(trace::Call::waitall, ours);
        // Ends before the native MPI waits for its requests: the progress thread must run then.
        for (RequestWait request_wait; !inside_entry([&] { return request_table.progress(ours); });)
            request_wait.pause(ours);
        clock.stop();
        return complete_all(count, handles, statuses, native);
    });
}

int waitany(int count, MPI_Request handles[], int* index, MPI_Status* status) {
    return wait_for_some(
        trace::Call::waitany, count, handles, [&] { return NEXT_Waitany(count, handles, index, status); },
        [&](bool* happened) {
            int flag = 0;
            const int error = NEXT_Testany(count, handles, index, &flag, status);
            *happened = flag != 0;
            return error;
        });
}

int waitsome(int count, MPI_Request handles[], int* completed, int indices[], MPI_Status statuses[]) {
    return wait_for_some(
        trace::Call::waitsome, count, handles,
        [&] { return NEXT_Waitsome(count, handles, completed, indices, statuses); },
        [&](bool* happened) {
            const int error = NEXT_Testsome(count, handles, completed, indices, statuses);
            *happened = *completed != 0;
            return error;
        });
}

int testall(int count, MPI_Request handles[], int* flag, MPI_Status statuses[]) {
    return test_array(trace::Call::testall, count, handles, flag,
                      [&] { return NEXT_Testall(count, handles, flag, statuses); });
}

int testany(int count, MPI_Request handles[], int* index, int* flag, MPI_Status* status) {
    return test_array(trace::Call::testany, count, handles, flag,
                      [&] { return NEXT_Testany(count, handles, index, flag, status); });
}

int testsome(int count, MPI_Request handles[], int* completed, int indices[], MPI_Status statuses[]) {
    return test_array(trace::Call::testsome, count, handles, completed,
                      [&] { return NEXT_Testsome(count, handles, completed, indices, statuses); });
}

int get_status(MPI_Request handle, int* flag, MPI_Status* status) {
    return guarded([&]() -> int {
        Request* const request = request_book.lists() == 0 || flag == nullptr ? nullptr : find(handle);
        if (request != nullptr) {
            record_test({&request, 1});
            WaitClock clock(trace::Call::get_status, {&request, 1});
            const Entry entry;
            // MPICH 5 counts a poll of a persistent request as its completion.
            const bool tests = !request->completes_in_mpi();
            if (tests) *flag = request_table.test(*request) ? 1 : 0;
            if (tests && *flag != 0) {
                request->floating_point.raise();
                set_empty(status);
            }
            clock.stop();
            if (tests) return MPI_SUCCESS;
        }
        return test_array(trace::Call::get_status, 1, &handle, flag,
                          [&] { return NEXT_Request_get_status(handle, flag, status); });
    });
}

consteval bool waits(std::string_view function) {
    return function.starts_with("MPI_Wait");
}

}  // namespace

int wait_for(Request& request, MPI_Request* handle, MPI_Status* status, trace::Call call) {
    Request* const one = &request;
    WaitClock clock(call, {&one, 1});
    Completion completion;
    for (RequestWait request_wait;;) {
        {
            const Entry entry;
            if (request_table.progress(request)) {
                clock.stop();
                completion = take(request, handle, status);
            }
        }
        if (completion.complete) return end_of_wait(completion, handle, status);
        request_wait.pause({&one, 1});
    }
}

}  // namespace lapwing

using namespace lapwing;

#define LAPWING_COMPLETES(call, function, parameters, names, number, requests, completed) \
    LAPWING_RECORDED(function, parameters, names, 0, watch::Journal::no_peer, -1,         \
                     request_book.alive() == 0 && (waits(#function) || !list_completed), call names)
#include "mpi/calls/native_calls.def"

#ifndef OPEN_MPI
// Since MPI 4.1: mpi.h may be older than the MPI.
#define LAPWING_QUERIES(function, parameters, names, found)               \
    LAPWING_MPI function parameters {                                     \
        const InMpi in_mpi(__builtin_return_address(0));                  \
        return test_array(trace::Call::get_status, count, handles, found, \
                          [&] { return LAPWING_NEXT(function) names; });  \
    }
LAPWING_QUERIES(MPI_Request_get_status_all,
                (int count, const MPI_Request handles[], int* flag, MPI_Status statuses[]),
                (count, handles, flag, statuses), flag)
LAPWING_QUERIES(MPI_Request_get_status_any,
                (int count, const MPI_Request handles[], int* index, int* flag, MPI_Status* status),
                (count, handles, index, flag, status), flag)
LAPWING_QUERIES(MPI_Request_get_status_some,
                (int count, const MPI_Request handles[], int* completed, int indices[],
                 MPI_Status statuses[]),
                (count, handles, completed, indices, statuses), completed)
#endif
