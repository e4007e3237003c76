#include "mpi/requests/native_requests.hpp"

#include "mpi/native/async_progress.hpp"
#include "mpi/native/handle_word.hpp"

namespace lapwing {

NativeRequests& native_requests = *new NativeRequests;

NativeRequest* find_native(MPI_Request handle) {
    WatchedRequest* const found = request_book.find(word_of(handle));
    const bool is_native = found != nullptr && found->run_by == WatchedRequest::RunBy::mpi;
    return is_native ? static_cast<NativeRequest*>(found) : nullptr;
}

NativeRequest& NativeRequests::add(MPI_Request handle, bool persistent) {
    // MPIs return one handle for all requests that are complete at once.
    if (NativeRequest* const former = find_native(handle)) remove(handle, *former);
    NativeRequest& request = pool_.take();
    request.is_persistent = persistent;
    request.number = ++numbers_;
    request_book.insert(word_of(handle), request);
    return request;
}

void NativeRequests::add_message(MPI_Request handle, std::uint64_t bytes, bool persistent) {
    NativeRequest& request = add(handle, persistent);
    request.bytes = bytes;
    if (!persistent) begin(request);
}

void NativeRequests::add_collective(MPI_Request handle, const watch::CallId& call, bool persistent,
                                    watch::CallRecord* starts) {
    const bool moves = async_progress.serves_messages();
    if (call.communicator == nullptr && !moves) return;
    NativeRequest& request = add(handle, persistent);
    request.recorded = call;
    request.starts = starts;
    request.bytes = moves ? 1 : 0;
    if (!persistent) begin(request);
}

void NativeRequests::start(MPI_Request handle) {
    NativeRequest* const request = find_native(handle);
    if (request == nullptr) return;
    end(*request);
    // The MPI has given the handle of a request to another one, which is not watched.
    if (!request->is_persistent) return release(handle, *request);
    begin(*request);
}

void NativeRequests::begin(NativeRequest& request) {
    request_book.transition(request, RequestEvent::start);
    request.number = ++numbers_;
    if (request.starts != nullptr) request.starts->start();
    if (request.bytes != 0) async_progress.add_message(request.bytes);
}

// The request is complete, or nobody asks for it any more.
void NativeRequests::end(NativeRequest& request) {
    if (request.state != RequestState::running) return;
    request_book.transition(request, RequestEvent::end);
    request.number = ++numbers_;
    request.record_completion();
    if (request.bytes != 0) async_progress.remove_message(request.bytes);
}

void NativeRequests::release(MPI_Request handle, NativeRequest& request) {
    request_book.erase(word_of(handle), request);
    request.recorded = {};
    request.starts = nullptr;
    pool_.release(request);
}

void NativeRequests::remove(MPI_Request handle, NativeRequest& request) {
    end(request);
    if (request.starts != nullptr) request.recorded.communicator->release_persistent(request.recorded.serial);
    release(handle, request);
}

NativeCompletion::NativeCompletion(int count, const MPI_Request* handles) {
    if (handles == nullptr) return;
    const Entry entry;
    for (int i = 0; i < count; ++i) {
        NativeRequest* const request = find_native(handles[i]);
        if (request == nullptr || request->state != RequestState::running) continue;
        before_.push_back({i, handles[i], request, request->number, request->is_persistent});
        watch::InCall::waits_for(request->recorded);
    }
}

void NativeCompletion::done(const MPI_Request* now) {
    for (const auto& [position, handle, request, number, persistent] : before_) {
        int complete = now[position] == MPI_REQUEST_NULL ? 1 : 0;
        // The handle of a persistent request stays. An inactive request counts as complete.
        if (complete == 0 && persistent) PMPI_Request_get_status(handle, &complete, MPI_STATUS_IGNORE);
        if (complete == 0) continue;
        const Entry entry;
        // By the end of the call, another thread may have the same handle for another request.
        if (request->number != number) continue;
        native_requests.end(*request);
        if (!persistent) native_requests.release(handle, *request);
    }
}

}  // namespace lapwing
