// Records the calls of the program for `lapwing profile --record`, see src/recording/.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mpi/calls/exported.hpp"
#include "recording/recording.hpp"

namespace lapwing::profile {

namespace detail {
extern std::atomic<bool> is_recording;
}

inline bool recording() {
    return detail::is_recording.load(std::memory_order_relaxed);
}

// After MPI_Init. Throws Error (system).
void begin_recording(const std::string& directory, int rank);
// The program goes on.
void resume_recording();
// Returns why the recording is incomplete, or an empty string.
std::string end_recording();

// One call of the program, from its beginning to its end. Calls that the MPI makes inside another call are
// not recorded.
class RecordedCall {
  public:
    explicit RecordedCall(const CallSite& site);
    ~RecordedCall();
    RecordedCall(const RecordedCall&) = delete;
    RecordedCall& operator=(const RecordedCall&) = delete;

    bool on() const { return on_; }
    // Around the MPI's own function.
    void enter();
    void leave();
    // Afterwards, if on(). Null: none.
    void set_communicator(MPI_Comm communicator);
    void set_fruitless() { fruitless_ = true; }
    recording::Call& call() { return *call_; }

  private:
    bool on_;
    bool fruitless_ = false;
    CallSite site_;
    std::uint64_t wall_ = 0;  // when the program made the call
    std::uint64_t began_ = 0;
    std::uint64_t ended_ = 0;
    recording::Time time_;
    recording::Call* call_ = nullptr;  // the thread's, if on_
};

// The slots of requests. The first argument is the call that gets their numbers.
void add_request(recording::Call& call, MPI_Request handle, bool persistent);
void start_requests(recording::Call& call, int count, const MPI_Request* handles);
void free_request(recording::Call& call, MPI_Request handle);

// The requests of a call that completes some of them.
class CompletingRequests {
  public:
    // Before the call: those that are known and active.
    CompletingRequests(int count, const MPI_Request* handles);
    void set_all_complete();
    // `indices`: of the array of the program.
    void set_complete(std::span<const int> indices);
    // Fills in the call's requests. Returns how many are complete. `keep`: they stay active, as by
    // MPI_Request_get_status.
    std::size_t finish(recording::Call& call, bool keep);

  private:
    struct Request {
        int index = 0;
        MPI_Request handle{};
        std::uint32_t slot = 0;
        bool persistent = false;
        bool complete = false;
    };
    std::vector<Request> requests_;
};

}  // namespace lapwing::profile
