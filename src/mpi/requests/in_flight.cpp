#include "mpi/requests/in_flight.hpp"

#include <fmt/format.h>

#include <memory>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "mpi/job/runtime.hpp"
#include "mpi/native/device_data.hpp"
#include "mpi/native/entry.hpp"
#include "mpi/native/guard.hpp"
#include "mpi/native/hook.hpp"
#include "mpi/native/own_communicator.hpp"
#include "mpi/native/packing.hpp"
#include "mpi/requests/handle_table.hpp"
#include "mpi/requests/timeline.hpp"

namespace lapwing {

Count live_requests;
Count running_requests;

namespace {

// Never destroyed: a program may exit without MPI_Finalize while another thread is still in here.
HandleTable& table = *new HandleTable;
auto& all = *new std::vector<std::unique_ptr<Request>>;
auto& idle = *new std::vector<Request*>;  // with a handle that can be used again
auto& bare = *new std::vector<Request*>;  // without a handle
auto& running = *new std::vector<Request*>;
auto& complete = *new std::vector<Request*>;

// Whose handle the MPI has freed: a stack without a lock, because the MPI frees it in the middle of a call of
// any thread, holding locks of its own.
std::atomic<Request*> freed_requests{nullptr};

int query(void* state, MPI_Status* status) {
    set_empty(status);
    return static_cast<Request*>(state)->error;
}

// The MPI frees the request: it was given to it, and the program has seen its completion.
int freed(void* state) {
    Request* request = static_cast<Request*>(state);
    request->freed.store(true, std::memory_order_release);
    request->next_freed = freed_requests.load(std::memory_order_relaxed);
    while (!freed_requests.compare_exchange_weak(request->next_freed, request, std::memory_order_release)) {
    }
    return MPI_SUCCESS;
}

void collect_freed() {
    Request* request = freed_requests.exchange(nullptr, std::memory_order_acquire);
    while (request != nullptr) {
        Request* next = request->next_freed;
        table.erase(request);
        request->freed.store(false, std::memory_order_relaxed);
        request->state = Request::State::idle;
        bare.push_back(request);
        request = next;
    }
}

// The standard forbids to cancel a nonblocking collective. This one is complete, and the MPI's.
int cancel(void*, int) {
    return MPI_ERR_REQUEST;
}

void release_types(Request& request) {
    for (Unpacking& part : request.unpacking) {
        if (part.type != MPI_DATATYPE_NULL) PMPI_Type_free(&part.type);
    }
    request.unpacking.clear();
    request.reducer.release();
    if (!request.device_staging.empty()) request.device_staging.release();
}

int unpack_all(const Request& request) {
    DeviceData data;
    int error = MPI_SUCCESS;
    for (const Unpacking& part : request.unpacking) {
        if (error != MPI_SUCCESS) return error;
        error = data.unpack(part.place, part.bytes, part.elements, part.count, part.type, part.layout);
        if (part.place.on_device()) {
            CollectiveCount& count = runtime.report.of(request.collective);
            ++count.device_buffers;
            count.bytes_to_devices += part.count * part.layout.size;
        }
    }
    return error == MPI_SUCCESS ? data.finish() : error;
}

// The last byte has arrived, or the link has failed.
void finish(Request& request) {
    if (request.error == MPI_SUCCESS) request.error = request.reducer.error();
    if (!request.unpacking.empty() && request.error == MPI_SUCCESS) request.error = unpack_all(request);
    release_types(request);
    running[request.place] = running.back();
    running[request.place]->place = request.place;
    running.pop_back();
    --running_requests;
    --request.group->in_flight;
    if (runtime.measures) {
        CollectiveCount& count = runtime.report.of(request.collective);
        // From the return of the starting call to completion, less the calls that waited for it.
        const std::uint64_t now = request.completed = nanoseconds();
        const std::uint64_t waited =
            request.waited + (request.waiting_since == 0 ? 0 : now - request.waiting_since);
        const std::uint64_t alive = now - request.started;
        count.hidden_time += alive > waited ? alive - waited : 0;
        timeline::completed(request, now);
    }
    request.state = Request::State::complete;
    complete.push_back(&request);
    request.place = complete.size() - 1;
    if (request.forgotten) give_back(request);
}

void leave_complete(Request& request) {
    complete[request.place] = complete.back();
    complete[request.place]->place = request.place;
    complete.pop_back();
}

void begin(Request& request) {
    Communicator& group = *request.group;
    if (request.plan == nullptr) request.plan = &group.engines.planner().plan(request.problem);
    if (runtime.measures) {
        runtime.report.count_use(request.collective, request.plan->choice.algorithm, request.plan->engine);
        timeline::starts(request);
    }
    request.operation = request.plan->prepared->start(request.buffers, request.channel);
    ++request.plan->in_flight;
    runtime.report.of(request.collective).bytes_sent += request.plan->bytes_sent;
    group.engine_used = request.plan->engine;
}

// A persistent one that the program has freed.
void forget(Request& request) {
    request.persistence->handle.free(request.handle, request.error);
    give_back_lane(*request.group, request.persistence->lane);
    request.plan->prepared->give_up(request.persistence->channel);
    request.persistence.reset();
    --request.plan->in_flight;
    --request.group->in_flight;
    --persistent_requests;
    table.erase(&request);
    bare.push_back(&request);
}

// Starts what waited for the group's links, in order. False while they are not settled.
bool begin_deferred(Communicator& group) {
    if (!settle(group)) return false;
    while (!group.deferred.empty()) {
        Request& request = *group.deferred.front();
        group.deferred.pop_front();
        try {
            begin(request);
        } catch (const Error& error) {
            request.error = error_code_of(error);
            finish(request);
        }
    }
    return true;
}

bool move(Request& request, bool waited_for = false) {
    try {
        if (!request.group->deferred.empty() && !begin_deferred(*request.group)) return false;
        if (request.state != Request::State::running) return true;
        Prepared& prepared = *request.plan->prepared;
        if (!(waited_for ? prepared.progress(request.operation) : prepared.test(request.operation)))
            return false;
        --request.plan->in_flight;
        runtime.report.of(request.collective).wake_ups += request.operation->wake_ups;
    } catch (const Error& error) {
        // The plan stays in flight for ever: the link may still touch its memory.
        request.error = error_code_of(error);
        request.device_staging.abandon();
        std::erase(request.group->deferred, &request);
    }
    finish(request);
    return true;
}

Request* bare_request() {
    collect_freed();
    if (bare.empty()) {
        all.push_back(std::make_unique<Request>());
        bare.push_back(all.back().get());
    }
    return bare.back();
}

}  // namespace

Request& add_request(MPI_Request handle) {
    Request* request = bare_request();
    bare.pop_back();
    request->handle = handle;
    request->state = Request::State::idle;
    request->forgotten = false;
    request->starts = 0;
    table.insert(request);
    return *request;
}

Request* take_request(int* error) {
    *error = MPI_SUCCESS;
    Request* request = nullptr;
    if (!idle.empty()) {
        request = idle.back();
        idle.pop_back();
    } else {
        request = bare_request();
        *error = PMPI_Grequest_start(query, freed, cancel, request, &request->handle);
        if (*error != MPI_SUCCESS) return nullptr;
        bare.pop_back();
        table.insert(request);
    }
    request->reset();
    request->plan = nullptr;
    request->forgotten = false;
    return request;
}

void run(Request& request) {
    Communicator& group = *request.group;
    request.channel = request.persistence != nullptr ? request.persistence->channel
                                                     : group.next_channel++ % first_kept_channel;
    if (request.plan != nullptr) {
        begin(request);
    } else {
        group.deferred.push_back(&request);
    }
    ++group.in_flight;
    request.state = Request::State::running;
    request.place = running.size();
    running.push_back(&request);
    ++running_requests;
    ++live_requests;
    collective_started();
}

void measure_start(Request& request, std::uint64_t began, bool blocking) {
    request.began = began;
    request.started = nanoseconds();
    runtime.report.of(request.collective).start_time += request.started - began;
    timeline::started(request, blocking);
}

void give_back(Request& request) {
    if (request.state == Request::State::complete) {
        leave_complete(request);
        --live_requests;
    } else {
        release_types(request);
    }
    request.state = Request::State::idle;
    if (request.persistence != nullptr) {
        if (request.forgotten) forget(request);
        return;
    }
    request.in_staging.trim();
    request.out_staging.trim();
    idle.push_back(&request);
}

Request* find_request(MPI_Request handle) {
    Request* request = table.find(handle);
    if (request == nullptr || request->state == Request::State::idle ||
        request->freed.load(std::memory_order_acquire)) {
        return nullptr;
    }
    return request;
}

Request* find_persistent(MPI_Request handle) {
    Request* request = table.find(handle);
    return request == nullptr || request->persistence == nullptr ? nullptr : request;
}

void set_empty(MPI_Status* status) {
    if (status == MPI_STATUS_IGNORE) return;
    status->MPI_SOURCE = MPI_ANY_SOURCE;
    status->MPI_TAG = MPI_ANY_TAG;
    PMPI_Status_set_elements(status, MPI_BYTE, 0);
    PMPI_Status_set_cancelled(status, 0);
}

int progress() {
    int completed = 0;
    // From the end: finish() puts the last one into the place of the one that completes.
    for (std::size_t i = running.size(); i-- > 0;) {
        if (i < running.size() && move(*running[i])) ++completed;
    }
    return completed;
}

int progress_of_all() {
    const int completed = progress();
    // Peers may wait for what this rank has sent, although it is complete here.
    if (Fabric* const fabric = runtime.network.fabric();
        fabric != nullptr && runtime.network.progress_thread() == nullptr) {
        fabric->progress();
    }
    // A thread may wait for one of them inside the MPI.
    give_complete_to_mpi();
    return completed;
}

bool test(Request& request) {
    if (request.state == Request::State::running) {
        if (running.size() == 1) {
            move(request);
        } else {
            progress();
        }
    }
    return request.state != Request::State::running;
}

bool progress(Request& request) {
    if (request.state == Request::State::running) {
        // The others go on, too: a peer may wait for one of them.
        if (running.size() > 1) progress();
        if (request.state == Request::State::running) move(request, true);
    }
    return request.state != Request::State::running;
}

int prepare_to_sleep(Request& request) {
    if (request.state != Request::State::running || request.operation == nullptr) return -1;
    return request.plan->prepared->prepare_to_sleep(request.operation);
}

void give_to_mpi(Request& request) {
    if (request.state != Request::State::complete) return;
    if (request.persistence != nullptr) {
        request.persistence->handle.complete(request.handle, request.error);
        give_back(request);
        return;
    }
    leave_complete(request);
    --live_requests;
    request.state = Request::State::given_to_mpi;
    PMPI_Grequest_complete(request.handle);
}

void give_complete_to_mpi() {
    for (std::size_t i = complete.size(); i-- > 0;) {
        // A persistent one that the MPI does not know to be active can not be waited for in there.
        const Request& request = *complete[i];
        if (request.persistence == nullptr || request.persistence->handle.active()) give_to_mpi(*complete[i]);
    }
}

bool is_with_mpi(Request& request) {
    if (request.persistence == nullptr) return request.state == Request::State::given_to_mpi;
    if (request.persistence->handle.active()) give_to_mpi(request);
    return request.state == Request::State::idle;
}

void finish_links(Communicator& group) {
    finish_links(group, UINT64_MAX);
}

void finish_links(Communicator& group, std::uint64_t patience) {
    const std::uint64_t began = nanoseconds();
    for (bool ready = !group.begun; !ready && nanoseconds() - began < patience;) {
        {
            const Entry entry;
            // A rank that must come here first may wait for a list of ours.
            progress();
            ready = (!group.needs_native_link() || group.link.ready()) && settle(group);
        }
        if (!ready) std::this_thread::yield();
    }
}

void drain_requests() {
    constexpr std::uint64_t patience = 5'000'000'000;
    const std::uint64_t begin = nanoseconds();
    while (running_requests > 0 && nanoseconds() - begin < patience) {
        const Entry entry;
        progress();
    }
    if (running_requests > 0) {
        fmt::print(stderr, "lapwing: MPI_Finalize with {} collectives that do not complete\n",
                   static_cast<int>(running_requests));
    }
    std::vector<Request*> kept;
    {
        const Entry entry;
        kept.swap(idle);
        for (const auto& request : all) {
            if (request->persistence == nullptr || request->state == Request::State::running) continue;
            request->forgotten = true;
            give_back(*request);
        }
        free_own_communicator();
    }
    for (Request* request : kept) {
        MPI_Request handle = request->handle;
        PMPI_Grequest_complete(handle);
        PMPI_Request_free(&handle);
    }
}

}  // namespace lapwing
