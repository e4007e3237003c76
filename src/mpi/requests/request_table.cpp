#include "mpi/requests/request_table.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/values.hpp"
#include "mpi/job/runtime.hpp"
#include "mpi/native/async_progress.hpp"
#include "mpi/native/device_data.hpp"
#include "mpi/native/entry.hpp"
#include "mpi/native/guard.hpp"
#include "mpi/requests/timeline.hpp"

namespace lapwing {

NeverDestroyed never_destroyed;

namespace {

// Of a request whose list no longer runs.
void release_resources(Request& request) {
    for (Unpacking& part : request.packed.unpacking) {
        if (part.type != MPI_DATATYPE_NULL) PMPI_Type_free(&part.type);
    }
    request.packed.unpacking.clear();
    request.reducer.release();
    if (!request.packed.device.empty()) request.packed.device.release();
}

int unpack_all(const Request& request) {
    DeviceData data;
    int error = MPI_SUCCESS;
    for (const Unpacking& part : request.packed.unpacking) {
        if (error != MPI_SUCCESS) return error;
        if (part.form) part.form->decode(part.bytes, part.count * part.layout.size);
        error = data.unpack(part.place, part.bytes, part.elements, part.count, part.type, part.layout);
        if (part.place.on_device()) {
            CollectiveCount& count = runtime.report.of(request.collective);
            ++count.device_buffers;
            count.bytes_to_devices += part.count * part.layout.size;
        }
    }
    return error == MPI_SUCCESS ? data.finish() : error;
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

// In the journal: this rank's part of the collective is complete.
void record_completion(const Request& request) {
    if (request.starts_record != nullptr)
        request.starts_record->stop();
    else if (request.recorded.communicator != nullptr)
        request.recorded.communicator->completed(request.recorded.serial);
}

void begin(Request& request) {
    Communicator& group = *request.group;
    if (request.plan == nullptr) request.plan = &group.planner().plan(request.problem);
    Plan& plan = *request.plan;
    if (runtime.measures) {
        runtime.report.count_use(request.collective, plan.choice.algorithm, plan.engine);
        timeline::starts(request);
    }
    request.operation = plan.prepared->start(request.buffers, request.channel);
    ++plan.in_flight;
    runtime.report.of(request.collective).bytes_sent += plan.bytes_sent;
    group.engine_used = plan.engine;
}

}  // namespace

// Inline, with constant states at most callers: 5 ns of 50 in each small collective.
[[gnu::always_inline]] inline void RequestTable::change(Request& request, State from, State to) {
    std::vector<Request*>& left = in(from);
    Request* const last = left.back();
    left[request.index] = last;
    last->index = request.index;
    left.pop_back();
    std::vector<Request*>& entered = in(to);
    request.state = to;
    request.index = entered.size();
    entered.push_back(&request);
    const auto is_live = [](State state) { return state == State::running || state == State::complete; };
    if (is_live(to) && !is_live(from)) ++live_;
    if (is_live(from) && !is_live(to)) --live_;
    if (to == State::running) ++running_;
    if (from == State::running) --running_;
}

// Callbacks of the generalized requests.

int RequestTable::query(void* request, MPI_Status* status) {
    set_empty(status);
    return static_cast<Request*>(request)->error;
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

void RequestTable::collect_freed() {
    Request* request = freed_.exchange(nullptr, std::memory_order_acquire);
    while (request != nullptr) {
        Request* const next = request->next_freed;
        handles_.erase(request);
        request->freed.store(false, std::memory_order_relaxed);
        leave_group(*request);
        change(*request, State::given_to_mpi, State::bare);
        request = next;
    }
}

Request& RequestTable::bare_request() {
    collect_freed();
    if (in(State::bare).empty()) {
        all_.push_back(std::make_unique<Request>());
        in(State::bare).push_back(all_.back().get());
    }
    return *in(State::bare).back();
}

Request* RequestTable::take(int* error) {
    *error = MPI_SUCCESS;
    if (in(State::idle).empty()) {
        Request& request = bare_request();
        *error = PMPI_Grequest_start(query, freed, cancel, &request, &request.handle);
        if (*error != MPI_SUCCESS) return nullptr;
        handles_.insert(&request);
        change(request, State::bare, State::idle);
    }
    Request* const request = in(State::idle).back();
    request->reset();
    request->plan = nullptr;
    return request;
}

Request& RequestTable::add(MPI_Request handle, std::unique_ptr<Persistent> persistent) {
    Request& request = bare_request();
    request.handle = handle;
    request.starts = 0;
    request.persistent = std::move(persistent);
    ++persistent_;
    handles_.insert(&request);
    change(request, State::bare, State::inactive);
    return request;
}

void RequestTable::run(Request& request) {
    Communicator& group = *request.group;
    request.channel = request.persistent != nullptr ? request.persistent->channel
                                                    : group.next_channel++ % first_persistent_channel;
    if (request.plan != nullptr)
        begin(request);
    else
        group.waiting.push_back(&request);
    ++group.in_flight;
    change(request, request.persistent != nullptr ? State::inactive : State::idle, State::running);
    async_progress.list_started();
}

// The program has seen the completion, and asks no more for the communicator of an error.
void RequestTable::leave_group(Request& request) {
    if (request.group != nullptr) --request.group->in_flight;
    request.group = nullptr;
}

// Frees the MPI's request and what the list has reserved. The request must not run.
void RequestTable::free_persistent(Request& request) {
    Persistent& persistent = *request.persistent;
    persistent.handle.free(request.handle, request.error);
    if (request.starts_record != nullptr)
        persistent.buffers.recorded.communicator->release_persistent(persistent.buffers.recorded.serial);
    request.starts_record = nullptr;
    request.plan->prepared->release_channel(persistent.channel);
    request.persistent.reset();
    --request.plan->in_flight;
    leave_group(request);
    --persistent_;
}

void RequestTable::release(Request& request) {
    const bool is_persistent = request.persistent != nullptr;
    const bool forgotten = std::exchange(request.forgotten, false);
    if (request.state == State::complete) {
        if (!is_persistent) leave_group(request);
        change(request, State::complete, is_persistent ? State::inactive : State::idle);
    } else {
        release_resources(request);
        if (!is_persistent) request.group = nullptr;  // it has not begun
    }
    if (!is_persistent) {
        request.packed.in.trim();
        request.packed.out.trim();
    } else if (forgotten) {
        handles_.erase(&request);
        free_persistent(request);
        change(request, State::inactive, State::bare);
    }
}

void RequestTable::forget(Request& request) {
    request.forgotten = true;
    if (request.state != State::running) release(request);
}

Request* RequestTable::find(MPI_Request handle) const {
    Request* const request = handles_.find(handle);
    if (request == nullptr || request->state == State::idle || request->state == State::inactive ||
        request->freed.load(std::memory_order_acquire)) {
        return nullptr;
    }
    return request;
}

Request* RequestTable::find_persistent(MPI_Request handle) const {
    Request* const request = handles_.find(handle);
    return request == nullptr || request->persistent == nullptr ? nullptr : request;
}

// Starts the requests that waited for the group's links, in order. Returns false while the links are unknown.
bool RequestTable::begin_waiting(Communicator& group) {
    if (!open_group(group)) return false;
    while (!group.waiting.empty()) {
        Request& request = *group.waiting.front();
        group.waiting.pop_front();
        try {
            begin(request);
        } catch (const Error& error) {
            request.error = error_code_of(error);
            finish(request);
        }
    }
    return true;
}

// Returns whether the request is complete.
bool RequestTable::advance(Request& request, bool waited_for) {
    try {
        if (!request.group->waiting.empty() && !begin_waiting(*request.group)) return false;
        if (request.state != State::running) return true;
        Prepared& prepared = *request.plan->prepared;
        if (!(waited_for ? prepared.progress(request.operation) : prepared.test(request.operation)))
            return false;
        --request.plan->in_flight;
        runtime.report.of(request.collective).wake_ups += request.operation->wake_ups;
    } catch (const Error& error) {
        // The plan stays in flight for ever: the link may still touch its memory.
        request.error = error_code_of(error);
        request.packed.device.abandon();
        std::erase(request.group->waiting, &request);
    }
    finish(request);
    return true;
}

// The last byte has arrived, or the link has failed.
void RequestTable::finish(Request& request) {
    if (request.error == MPI_SUCCESS) request.error = request.packed.error;
    if (request.error == MPI_SUCCESS) request.error = request.reducer.error();
    if (!request.packed.unpacking.empty() && request.error == MPI_SUCCESS)
        request.error = unpack_all(request);
    release_resources(request);
    if (request.persistent != nullptr) --request.group->in_flight;
    if (request.began != 0) measure_completion(request);
    change(request, State::running, State::complete);
    record_completion(request);
    if (request.forgotten) release(request);
}

int RequestTable::progress() {
    int completed = 0;
    // From the end: change() puts the last request into the position of the one that completes.
    const std::vector<Request*>& running = in(State::running);
    for (std::size_t i = running.size(); i-- > 0;) {
        if (i < running.size() && advance(*running[i], false)) ++completed;
    }
    return completed;
}

bool RequestTable::test(Request& request) {
    if (request.state == State::running) {
        if (in(State::running).size() == 1)
            advance(request, false);
        else
            progress();
    }
    return request.state != State::running;
}

bool RequestTable::progress(Request& request) {
    if (request.state == State::running) {
        // A peer may wait for one of the other lists.
        if (in(State::running).size() > 1) progress();
        if (request.state == State::running) advance(request, true);
    }
    return request.state != State::running;
}

void RequestTable::give_to_mpi(Request& request) {
    if (request.state != State::complete) return;
    if (request.persistent != nullptr) {
        request.persistent->handle.complete(request.handle, request.error);
        release(request);
    } else {
        change(request, State::complete, State::given_to_mpi);
        PMPI_Grequest_complete(request.handle);
    }
}

void RequestTable::give_all_to_mpi() {
    const std::vector<Request*>& complete = in(State::complete);
    for (std::size_t i = complete.size(); i-- > 0;) {
        // The MPI cannot wait for a persistent request that is inactive in the MPI.
        Request& request = *complete[i];
        if (request.persistent == nullptr || request.persistent->handle.active()) give_to_mpi(request);
    }
}

bool RequestTable::is_with_mpi(Request& request) {
    if (request.persistent == nullptr) return request.state == State::given_to_mpi;
    if (request.persistent->handle.active()) give_to_mpi(request);
    return request.state == State::inactive;
}

bool RequestTable::drain(std::uint64_t patience) {
    const std::uint64_t began = nanoseconds();
    while (running_ > 0 && nanoseconds() - began < patience) {
        const Entry entry;
        progress();
    }
    const bool drained = running_ == 0;
    if (!drained) {
        fmt::print(stderr, "lapwing: MPI_Finalize was called while {}\n",
                   counted(static_cast<int>(running_), "collective does not complete",
                           "collectives do not complete"));
    }
    std::vector<MPI_Request> unused;
    {
        const Entry entry;
        while (!in(State::idle).empty()) {
            Request& request = *in(State::idle).back();
            unused.push_back(request.handle);
            change(request, State::idle, State::given_to_mpi);
        }
        collect_freed();
        for (const auto& request : all_) {
            if (request->persistent != nullptr && request->state != State::running) forget(*request);
            // The program has never waited for it.
            if (request->state == State::complete) leave_group(*request);
        }
    }
    for (MPI_Request handle : unused) {
        PMPI_Grequest_complete(handle);
        PMPI_Request_free(&handle);
    }
    return drained;
}

int progress_of_all() {
    const int completed = request_table.progress();
    // Peers may wait for data that this rank has sent, even if its own collective is complete.
    if (Fabric* const fabric = runtime.network->fabric();
        fabric != nullptr && runtime.network->progress_thread() == nullptr) {
        fabric->progress();
    }
    // A thread may wait for one of them inside the MPI.
    request_table.give_all_to_mpi();
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
