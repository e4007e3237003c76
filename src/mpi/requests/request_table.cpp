#include "mpi/requests/request_table.hpp"

#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/messages.hpp"
#include "base/values.hpp"
#include "mpi/job/runtime.hpp"
#include "mpi/native/async_progress.hpp"
#include "mpi/native/device_data.hpp"
#include "mpi/native/guard.hpp"
#include "mpi/native/handle_word.hpp"
#include "mpi/requests/native_requests.hpp"
#include "mpi/requests/timeline.hpp"

namespace lapwing {

NeverDestroyed<RequestTable> never_destroyed_table;

namespace {

// Of a request whose list no longer runs.
void release_resources(Request& request) {
    request.packed.release();
    request.reducer.release();
}

void measure_completion(Request& request) {
    const std::uint64_t now = request.completed = nanoseconds();
    // From the return of the starting call to completion, without the calls that waited for the request.
    const std::uint64_t waited =
        request.waited + (request.waiting_since == 0 ? 0 : now - request.waiting_since);
    const std::uint64_t alive = now - request.started;
    runtime.report.of(request.collective).hidden_time += alive > waited ? alive - waited : 0;
    timeline::completed(request, now);
}

// Starts the list. Returns the MPI's error code.
[[gnu::always_inline]] inline int begin(Request& request) {
    Communicator& group = *request.group;
    try {
        if (request.plan == nullptr) request.plan = &group.planner().plan(request.problem);
        Plan& plan = *request.plan;
        if (runtime.measures) {
            runtime.report.count_use(request.collective, plan.choice.algorithm, plan.engine);
            timeline::starts(request);
        }
        request.operation = plan.start(request.buffers, request.channel);
        ++plan.in_flight;
        runtime.report.of(request.collective).bytes_sent += plan.bytes_sent;
        group.engine_used = plan.engine;
        return MPI_SUCCESS;
    } catch (const Error& error) {
        return error_code_of(error);
    }
}

[[gnu::always_inline]] inline Request* list_of(MPI_Request handle) {
    WatchedRequest* const found = request_book.find(word_of(handle));
    const bool is_list = found != nullptr && found->run_by == WatchedRequest::RunBy::lapwing;
    return is_list ? static_cast<Request*>(found) : nullptr;
}

}  // namespace

// Callbacks of the generalized requests.

int RequestTable::query(void* queried, MPI_Status* status) {
    auto* const request = static_cast<Request*>(queried);
    request->floating_point.raise();
    set_empty(status);
    return request->error;
}

// The request was given to the MPI, and the program has seen its completion.
int RequestTable::freed(void* freed) {
    auto* const request = static_cast<Request*>(freed);
    std::atomic<Request*>& stack = request_table.freed_;
    request->freed.store(true, std::memory_order_release);
    request->next_freed = stack.load(std::memory_order_relaxed);
    while (!stack.compare_exchange_weak(request->next_freed, request, std::memory_order_release)) {
    }
    return MPI_SUCCESS;
}

// The standard forbids to cancel a nonblocking collective.
int RequestTable::cancel(void*, int) {
    return MPI_ERR_REQUEST;
}

// The program has seen the completion, and asks no more for the communicator of an error.
void RequestTable::leave_group(Request& request) {
    if (request.group != nullptr) --request.group->in_flight;
    request.group = nullptr;
}

[[gnu::always_inline]] inline void RequestTable::return_to_pool(Request& request) {
    leave_group(request);
    request.packed.in.trim();
    request.packed.out.trim();
    free_.push_back(&request);
}

void RequestTable::collect_freed() {
    Request* request = freed_.exchange(nullptr, std::memory_order_acquire);
    while (request != nullptr) {
        Request* const next = request->next_freed;
        request_book.erase(word_of(request->handle), *request);
        request_book.transition(*request, RequestEvent::end);
        request->handle = {};
        request->freed.store(false, std::memory_order_relaxed);
        return_to_pool(*request);
        request = next;
    }
}

void RequestTable::insert(MPI_Request handle, Request& request) {
    if (NativeRequest* const former = find_native(handle)) native_requests.remove(handle, *former);
    request_book.insert(word_of(handle), request);
}

[[gnu::always_inline]] inline Request& RequestTable::free_request(Communicator& group) {
    if (free_.empty()) collect_freed();
    if (free_.empty()) free_.push_back(all_.emplace_back(std::make_unique<Request>()).get());
    Request& request = *free_.back();
    free_.pop_back();
    request.group = &group;
    ++group.in_flight;
    return request;
}

Request* RequestTable::take(Communicator& group, int* error) {
    Request& request = free_request(group);
    *error = MPI_SUCCESS;
    if (request.handle == MPI_Request{}) {  // not MPI_REQUEST_NULL, which Open MPI has to look up
        *error = PMPI_Grequest_start(query, freed, cancel, &request, &request.handle);
        if (*error != MPI_SUCCESS) {
            request.handle = {};
            release(request);
            return nullptr;
        }
        insert(request.handle, request);
    }
    request.reset();
    request.plan = nullptr;
    return &request;
}

Request& RequestTable::lend(Communicator& group, std::unique_ptr<Persistent> persistent) {
    Request& request = free_request(group);
    request.is_persistent = true;
    insert(persistent->handle.get(), request);
    request.persistent = std::move(persistent);
    return request;
}

int RequestTable::launch(Request& request, const UserBuffers& user, std::uint64_t began, bool blocking) {
    Communicator& group = *request.group;
    CollectiveCount& count = runtime.report.of(request.collective);
    request.packed.error = user.error;
    request.began = began;
    if (user.reduction) {
        request.reducer.hold(*user.reduction);
        request.buffers.reducer = &request.reducer;
    }
    if (is_reduction(request.collective)) {
        request.floating_point.capture();
        request.buffers.floating_point = &request.floating_point;
    }
    // Also if the start fails here: the other ranks count it.
    if (request.persistent == nullptr) request.channel = group.next_channel++ % first_persistent_channel;
    int error = MPI_SUCCESS;
    // An empty buffer is not stored: 5 ns, because the engine loads both addresses at once.
    if (!user.sent.empty())
        request.buffers.in = user.sent.send_address(
            request.packed, user.copies_sent || user.sent.overlaps(user.received), &error);
    if (!user.received.empty() && error == MPI_SUCCESS)
        request.buffers.out = user.received.receive_address(request.packed, &error);
    if (error == MPI_SUCCESS) {
        if (request.plan == nullptr)
            group.waiting.push_back(&request);
        else
            error = begin(request);
    }
    if (error != MPI_SUCCESS) {
        release(request);
        return error;
    }
    request_book.transition(request, RequestEvent::start);
    request.index = running_.size();
    running_.push_back(&request);
    async_progress.list_started();
    ++count.taken;
    if (began != 0) {
        request.started = nanoseconds();
        count.start_time += request.started - began;
        timeline::started(request, blocking);
    }
    return MPI_SUCCESS;
}

// The request must not run.
void RequestTable::free_persistent(Request& request) {
    Persistent& persistent = *request.persistent;
    request_book.erase(word_of(persistent.handle.get()), request);
    persistent.handle.free(request.error);
    if (request.starts != nullptr) request.recorded.communicator->release_persistent(request.recorded.serial);
    request.plan->prepared->release_channel(request.channel);
    --request.plan->in_flight;
    request.persistent.reset();
    request.is_persistent = false;
    request.starts = nullptr;
}

void RequestTable::release(Request& request) {
    if (request.state == RequestState::inactive) release_resources(request);  // its list has not started
    request_book.transition(request, RequestEvent::end);
    if (request.persistent != nullptr) {
        if (!request.forgotten) return;
        free_persistent(request);
    }
    request.forgotten = false;
    return_to_pool(request);
}

void RequestTable::forget(Request& request) {
    request.forgotten = true;
    if (!request.in_flight()) release(request);
}

Request* RequestTable::find(MPI_Request handle) {
    Request* const request = list_of(handle);
    const bool started = request != nullptr && request->state != RequestState::inactive &&
                         !request->freed.load(std::memory_order_acquire);
    return started ? request : nullptr;
}

Request* RequestTable::find_persistent(MPI_Request handle) {
    Request* const request = list_of(handle);
    return request == nullptr || request->persistent == nullptr ? nullptr : request;
}

// Starts the requests that waited for the group's links, in order. Returns false while the links are unknown.
[[gnu::noinline]] bool RequestTable::begin_waiting(Communicator& group) {
    if (!open_group(group)) return false;
    for (Request* const request : std::exchange(group.waiting, {})) {
        request->error = begin(*request);
        if (request->error != MPI_SUCCESS) finish(*request);
    }
    return true;
}

// Returns whether the request is complete.
bool RequestTable::advance(Request& request, bool waited_for, bool calls_mpi) {
    try {
        if (!request.group->waiting.empty() && !begin_waiting(*request.group)) return false;
        if (!request.in_flight()) return true;
        if (request.state == RequestState::running) {
            Prepared& prepared = *request.plan->prepared;
            if (!(waited_for ? prepared.progress(request.operation) : prepared.test(request.operation)))
                return false;
            --request.plan->in_flight;
            runtime.report.of(request.collective).wake_ups += request.operation->wake_ups;
            request_book.transition(request, RequestEvent::arrive);
            request.operation = nullptr;
        }
    } catch (const Error& error) {
        // The plan stays in flight for ever: the link may still touch its memory.
        request.error = error_code_of(error);
        request.packed.device.abandon();
        std::erase(request.group->waiting, &request);
        request_book.transition(request, RequestEvent::arrive);
    }
    if (!calls_mpi && (request.forgotten || !request.packed.unpacking.empty())) return false;
    finish(request);
    return true;
}

// The last byte has arrived, or the link has failed.
void RequestTable::finish(Request& request) {
    if (request.error == MPI_SUCCESS) request.error = request.packed.error;
    if (request.error == MPI_SUCCESS) request.error = request.reducer.error();
    if (!request.packed.unpacking.empty() && request.error == MPI_SUCCESS)
        request.error = request.packed.unpack();
    release_resources(request);
    if (request.began != 0) measure_completion(request);
    Request* const last = running_.back();
    running_[request.index] = last;
    last->index = request.index;
    running_.pop_back();
    request_book.transition(request, RequestEvent::complete);
    list_completed.store(true, std::memory_order_relaxed);
    request.record_completion();
    if (request.forgotten) release(request);
}

int RequestTable::progress(bool calls_mpi, bool waits) {
    const std::thread::id own = std::this_thread::get_id();
    const bool gate_is_closed = async_progress.polls();
    int completed = 0;
    // The earliest first: the later ones may wait for its messages. finish() puts the last request into the
    // position of the one that completes.
    for (std::size_t i = 0; i < running_.size();) {
        Request& request = *running_[i];
        // A function of the program may need a lock that a thread of the program has at the gate.
        const Problem& problem = request.plan != nullptr ? request.plan->problem : request.problem;
        if (gate_is_closed && problem.op == Operator::user) {
            ++i;
            continue;
        }
        const bool waited_for = request.waiter == own;
        // The MPI calls back in the middle of a wait. Its caller polls by itself: a test() would give the
        // list to the engine, which the next poll would have to take back.
        if ((!waited_for || waits) && advance(request, waited_for, calls_mpi)) ++completed;
        if (i < running_.size() && running_[i] == &request) ++i;
    }
    return completed;
}

bool RequestTable::test(Request& request) {
    if (request.in_flight()) {
        request.waiter = {};  // of a wait that has ended with an error of the MPI
        if (running_.size() == 1)
            advance(request, false);
        else
            progress();
    }
    return !request.in_flight();
}

bool RequestTable::progress(Request& waited_for) {
    if (running_.size() > 1) {
        Request* const one = &waited_for;
        return progress({&one, 1});
    }
    if (waited_for.in_flight()) {
        waited_for.waiter = std::this_thread::get_id();
        advance(waited_for, true);
    }
    return !waited_for.in_flight();
}

bool RequestTable::progress(std::span<Request* const> waited_for) {
    for (Request* const request : waited_for) request->waiter = std::this_thread::get_id();
    // All of them: a peer may wait for one of the other lists.
    progress(true, true);
    return std::ranges::none_of(waited_for, [](const Request* request) { return request->in_flight(); });
}

void RequestTable::give_to_mpi(Request& request) {
    if (request.state != RequestState::complete) return;
    if (request.persistent != nullptr) {
        // A generalized request's query raises its own.
        if (!async_progress.is_this_thread()) request.floating_point.raise();
        request.persistent->handle.complete(request.error);
        release(request);
    } else {
        PMPI_Grequest_complete(request.handle);
        // Afterwards: a thread that finds none alive waits for the handle in the MPI, and MPICH ends the job
        // if such a request is not complete.
        request_book.transition(request, RequestEvent::give);
    }
}

void RequestTable::give_all_to_mpi() {
    if (static_cast<std::size_t>(request_book.lists()) == running_.size()) return;
    for (const auto& request : all_) {
        // The MPI cannot wait for a persistent request that is inactive in the MPI.
        if (request->persistent == nullptr || request->persistent->handle.active()) give_to_mpi(*request);
    }
}

bool RequestTable::drain(std::uint64_t patience) {
    std::size_t running = 0;
    const std::uint64_t began = nanoseconds();
    do {
        const Entry entry;
        progress();
        running = running_.size();
    } while (running > 0 && nanoseconds() - began < patience);
    if (running > 0) {
        print_message("lapwing: MPI_Finalize was called while {}\n",
                      counted(static_cast<int>(running), "collective does not complete",
                              "collectives do not complete"));
    }
    std::vector<MPI_Request> unused;
    {
        const Entry entry;
        collect_freed();
        for (const auto& request : all_) {
            if (request->persistent != nullptr && !request->in_flight()) forget(*request);
            // The program has never waited for it.
            if (request->state == RequestState::complete) leave_group(*request);
            if (request->state == RequestState::inactive && request->handle != MPI_Request{})
                unused.push_back(request->handle);
        }
        free_.clear();
    }
    for (MPI_Request handle : unused) {
        PMPI_Grequest_complete(handle);
        PMPI_Request_free(&handle);
    }
    return running == 0;
}

int progress_of_all() {
    const bool calls_mpi = runtime.mode.lists_call_mpi;
    const int completed = request_table.progress(calls_mpi);
    // Peers may wait for data that this rank has sent, even if its own collective is complete.
    if (Fabric* const fabric = runtime.network->fabric();
        fabric != nullptr && runtime.network->progress_thread() == nullptr) {
        fabric->progress();
    }
    // A thread may wait for one of them inside the MPI.
    if (calls_mpi) request_table.give_all_to_mpi();
    return completed;
}

void set_empty(MPI_Status* status) {
    if (status == MPI_STATUS_IGNORE) return;
    status->MPI_SOURCE = MPI_ANY_SOURCE;
    status->MPI_TAG = MPI_ANY_TAG;
    PMPI_Status_set_elements(status, MPI_BYTE, 0);
    PMPI_Status_set_cancelled(status, 0);
}

}  // namespace lapwing
