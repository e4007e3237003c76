// The record of a call of a collective in the journal.
#pragma once

#include <mpi.h>

#include "mpi/calls/exported.hpp"
#include "mpi/job/recording.hpp"
#include "watch/journal.hpp"

namespace lapwing {

// `Call` is a struct of arguments with recorded(rank): see call.hpp.
class RecordedCall {
  public:
    template <typename Call>
    RecordedCall(const Call& call, MPI_Comm communicator, watch::Form form, const CallSite& site,
                 std::uint64_t now = watch::coarse_nanoseconds()) {
        id_.communicator = record_of(communicator);
        if (id_.communicator == nullptr) return;
        watch::CallArguments arguments = call.recorded(id_.communicator->rank());
        arguments.collective = Call::collective;
        id_.serial = id_.communicator->call(arguments, form, site.function, site.address, now);
    }
    RecordedCall(const RecordedCall&) = delete;
    RecordedCall& operator=(const RecordedCall&) = delete;
    // The description of the call on this rank.
    void described(const Problem& problem) const {
        if (!problem.parts.empty() && id_.communicator != nullptr)
            id_.communicator->blocks(id_.serial, problem);
    }
    // The call has returned this error of the MPI.
    void returned(int error) const {
        if (error != MPI_SUCCESS && id_.communicator != nullptr) [[unlikely]]
            id_.communicator->refused();
    }
    const watch::CallId& id() const { return id_; }
    void taken() const {
        if (id_.communicator != nullptr) id_.communicator->taken(id_.serial);
    }
    void completed() const {
        if (id_.communicator != nullptr) id_.communicator->completed(id_.serial);
    }
    watch::CallRecord* persistent(bool by_lapwing) const {
        return id_.communicator == nullptr ? nullptr : id_.communicator->persistent(id_.serial, by_lapwing);
    }

  private:
    watch::CallId id_;
};

}  // namespace lapwing
