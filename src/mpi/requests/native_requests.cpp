#include "mpi/requests/native_requests.hpp"

#include "mpi/native/pending_messages.hpp"

namespace lapwing {

NativeRequests& native_requests() {
    static auto& all = *new NativeRequests;  // never destroyed, as the request table
    return all;
}

void NativeRequests::complete(const One& one) {
    if (one.starts != nullptr)
        one.starts->stop();
    else
        one.call.communicator->completed(one.call.serial);
}

void NativeRequests::add(MPI_Request handle, const watch::CallId& call, watch::CallRecord* starts) {
    if (call.communicator == nullptr) return;
    const std::lock_guard lock(mutex_);
    // MPIs return one handle for all requests that are complete at once.
    One& one = all_[handle];
    if (one.number != 0) complete(one);
    one = {call, starts, ++numbers_};
    size_ = all_.size();
}

void NativeRequests::remove(MPI_Request handle) {
    const std::lock_guard lock(mutex_);
    const auto found = all_.find(handle);
    if (found == all_.end()) return;
    const One& one = found->second;
    if (one.starts != nullptr)
        one.call.communicator->release_persistent(one.call.serial);
    else
        complete(one);
    all_.erase(found);
    size_ = all_.size();
}

void NativeRequests::start(MPI_Request handle) {
    const std::lock_guard lock(mutex_);
    const auto found = all_.find(handle);
    if (found != all_.end() && found->second.starts != nullptr) found->second.starts->start();
}

NativeCompletion::NativeCompletion(int count, const MPI_Request* handles) {
    if (handles == nullptr) return;
    if (PendingMessages::any()) {
        for (int i = 0; i < count; ++i) {
            if (const auto entry = pending_messages.find(handles[i]); entry != 0)
                messages_.push_back({i, handles[i], entry});
        }
    }
    if (NativeRequests::none()) return;
    NativeRequests& all = native_requests();
    const std::lock_guard lock(all.mutex_);
    for (int i = 0; i < count; ++i) {
        const auto found = all.all_.find(handles[i]);
        if (found == all.all_.end()) continue;
        const NativeRequests::One& one = found->second;
        ours_.push_back({i, handles[i], one.number});
        if (one.starts == nullptr || one.starts->in_flight()) watch::InCall::waits_for(one.call);
    }
}

namespace {

// `now`: what the call has left of this handle. An inactive persistent request counts as complete.
bool is_complete(MPI_Request handle, MPI_Request now, bool persistent) {
    if (now == MPI_REQUEST_NULL) return true;
    int complete = 0;
    if (persistent) PMPI_Request_get_status(handle, &complete, MPI_STATUS_IGNORE);
    return complete != 0;
}

}  // namespace

void NativeCompletion::done(const MPI_Request* now) {
    for (const auto& [position, handle, entry] : messages_) {
        if (is_complete(handle, now[position], pending_messages.is_persistent(handle)))
            pending_messages.remove(handle, entry);
    }
    if (ours_.empty()) return;
    NativeRequests& all = native_requests();
    const std::lock_guard lock(all.mutex_);
    for (const auto& [position, handle, number] : ours_) {
        const auto found = all.all_.find(handle);
        if (found == all.all_.end() || found->second.number != number) continue;
        const bool persistent = found->second.starts != nullptr;
        if (!is_complete(handle, now[position], persistent)) continue;
        all.complete(found->second);
        if (!persistent) all.all_.erase(found);
    }
    all.size_ = all.all_.size();
}

}  // namespace lapwing
