// Records the program's calls in the journal (watch/journal.hpp).
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "mpi/job/mpi_job.hpp"
#include "mpi/native/handle_word.hpp"
#include "watch/journal.hpp"

namespace lapwing {

struct Communicator;

// After MPI_Init: begins the journal.
void begin_recording();

// Adds the communicator that a call has made, with its watch::Journal::creation(), from before the call. Its
// collectives are recorded unless it is an intercommunicator, has ranks outside MPI_COMM_WORLD, or has no
// `creation`. Nothing for MPI_COMM_NULL. `original`: that of a duplicate, which has the same members;
// otherwise MPI_COMM_NULL.
void add_to_journal(MPI_Comm communicator, const std::optional<watch::Journal::Creation>& creation,
                    MPI_Comm original);

// The program frees the communicator. Before the MPI can use the handle again.
void remove_from_journal(MPI_Comm communicator);

// A communicator of the program.
struct KnownCommunicator {
    MPI_Comm handle{};
    watch::CommunicatorRecord* record = nullptr;  // null if its collectives are not recorded
    Communicator* kept = nullptr;                 // mpi/requests/communicator.hpp; null if not yet looked up
    std::uint64_t changes = 0;                    // of communicators, when this was looked up
};
// The communicator that this thread used last. Valid until a communicator is made or freed. This thread may
// use it without a lock, because MPI forbids other threads to free a communicator that is in use.
extern constinit thread_local KnownCommunicator last_communicator;
extern std::atomic<std::uint64_t> communicator_changes;

KnownCommunicator& look_up(MPI_Comm communicator);
inline KnownCommunicator& known_communicator(MPI_Comm communicator) {
    KnownCommunicator& last = last_communicator;
    const bool valid =
        last.handle == communicator && last.changes == communicator_changes.load(std::memory_order_acquire);
    return valid ? last : look_up(communicator);
}
inline watch::CommunicatorRecord* record_of(MPI_Comm communicator) {
    return known_communicator(communicator).record;
}

// A call of a collective for the journal. It is recorded once: when its list has started, or before the
// native MPI runs the call.
class RecordedCall {
  public:
    template <typename Call>
    RecordedCall(const Call& call, MPI_Comm communicator, watch::Form form, const char* function,
                 const void* site, std::uint64_t now = watch::CallClock::next())
        : form_(form), function_(function), site_(site), now_(now), record_(record_of(communicator)) {
        if (record_ == nullptr) return;
        watch::CallArguments arguments = call.recorded(record_->rank());
        arguments.collective = Call::collective;
        what_ = arguments.what(form);
        bytes_ = arguments.bytes;
        serial_ = record_->next();
    }
    RecordedCall& operator=(RecordedCall&&) = delete;

    watch::Form form() const { return form_; }
    bool is_blocking() const { return form_ == watch::Form::blocking; }
    const void* site() const { return site_; }
    watch::CallId id() const { return {record_, serial_}; }

    // The description of the call on this rank.
    void described(const Problem& problem) const {
        if (!problem.parts.empty() && record_ != nullptr) record_->blocks(serial_, problem);
    }
    // Returns id().
    watch::CallId record(std::uint64_t flags = 0) const {
        if (record_ != nullptr) record_->call(what_, bytes_, function_, site_, flags, now_);
        return id();
    }
    watch::CallRecord* record_starts(bool by_lapwing) const {
        return record_ == nullptr ? nullptr : record_->persistent(serial_, by_lapwing);
    }
    // The native MPI has run the call, or the call has failed. Returns its error.
    int returned(int error) const {
        if (record_ == nullptr) return error;
        if (error != MPI_SUCCESS) record_->refused();
        if (error != MPI_SUCCESS || is_blocking()) record_->completed(serial_);
        return error;
    }

  private:
    watch::Form form_;
    const char* function_;
    const void* site_;
    std::uint64_t now_;
    watch::CommunicatorRecord* record_;  // null: the communicator's calls are not recorded
    std::uint64_t serial_ = 0;
    // Words, not CallArguments: to copy a struct whose members were just stored one by one costs 10 ns.
    std::uint64_t what_ = 0;
    std::uint64_t bytes_ = 0;
};

// What the journal knows of a datatype.
struct RecordedType {
    MPI_Datatype handle{};
    std::uint64_t size = 0;  // bytes of an element; 0: unknown
    std::uint8_t number = 0;
};
RecordedType find_recorded_type(MPI_Datatype type);
// A program mostly passes the same type and operator again. Predefined ones: a freed handle may be used
// again.
extern constinit thread_local RecordedType last_type;
struct RecordedOperation {
    MPI_Op handle{};
    std::uint8_t number = 0;
    bool by_user = false;
};
RecordedOperation find_recorded_operation(MPI_Op op);
extern constinit thread_local RecordedOperation last_operation;

// Bytes of so many elements, by which ranks compare their calls: 0 for wrong arguments.
inline std::uint64_t recorded_bytes(MPI_Count count, MPI_Datatype type) {
    if (count <= 0) return 0;
    const std::uint64_t size = type == last_type.handle ? last_type.size : find_recorded_type(type).size;
    return static_cast<std::uint64_t>(count) * size;
}
// Sets the type and the operator of a reduction. Predefined types of one kind and size count as one type. The
// types that a user's operator takes are not compared.
inline void record_reduction(watch::CallArguments& arguments, MPI_Op op, MPI_Datatype type) {
    const RecordedOperation operation =
        op == last_operation.handle ? last_operation : find_recorded_operation(op);
    arguments.operation = operation.number;
    if (!operation.by_user)
        arguments.type = type == last_type.handle ? last_type.number : find_recorded_type(type).number;
}

// A snapshot of this rank, by any thread, without calls of the MPI.
watch::RankSnapshot snapshot_of_this_rank(watch::Lines lines);

// Compares the calls of all ranks by a sum, and call by call if the sum shows that some differ: rank 0 prints
// the differences. Collective over the job, when this rank makes no more calls and no list of this rank is in
// flight.
void compare_calls_at_end(MpiJob& job);

}  // namespace lapwing

// For tests: writes the encoded snapshot (watch::encode) of this rank. Returns its length in
// bytes, also if `capacity` is less: nothing is written then.
extern "C" __attribute__((visibility("default"))) std::size_t lapwing_snapshot(std::byte* bytes,
                                                                               std::size_t capacity);
