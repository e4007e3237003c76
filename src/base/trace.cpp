#include "base/trace.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "base/descriptor.hpp"
#include "base/error.hpp"
#include "base/values.hpp"

namespace lapwing::trace {

namespace detail {
std::atomic<bool> recording{false};
constinit thread_local RingPosition position;
}  // namespace detail

namespace {

constexpr std::size_t max_rings = 64;

[[noreturn]] void refuse(const std::string& path, int error) {
    throw Error(ErrorCode::system, "cannot write the trace to {}: {}{}", path, std::strerror(error),
                error == ENOENT   ? "; its directory must be there on every host"
                : error == EEXIST ? "; a directory must be used for one job only"
                                  : "");
}

// Lines of JSON. Those beyond some megabytes are dropped.
class Facts {
  public:
    // The file must not exist.
    void create(const std::string& path) {
        path_ = path;
        file_ = Descriptor(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666));
        if (!file_) refuse(path, errno);
    }
    void add(const std::string& json) {
        const std::string line = json + "\n";
        if (bytes_ + line.size() > max_bytes) return;
        const ssize_t written = ::write(file_.get(), line.data(), line.size());
        bytes_ += line.size();
        if (written == static_cast<ssize_t>(line.size())) return;
        error_ = written < 0 ? errno : ENOSPC;
        bytes_ = max_bytes;  // a line after half a line could not be read
    }
    // Why facts could not be written: "FILE: No space left on device". Empty if the disk took all of them.
    std::string error() const {
        return error_ == 0 ? std::string() : fmt::format("{}: {}", path_, std::strerror(error_));
    }

  private:
    static constexpr std::uint64_t max_bytes = 16U << 20;
    std::string path_;
    Descriptor file_;
    int error_ = 0;
    std::uint64_t bytes_ = 0;
};

// A mapped file. Its blocks are allocated at once, because a store to a full disk would end the process.
class Ring {
  public:
    Ring(const std::string& path, std::uint64_t capacity)
        : bytes_(Header::events_at + capacity * sizeof(Event)) {
        const Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
        if (!file) refuse(path, errno);
        int error = ::posix_fallocate(file.get(), 0, static_cast<off_t>(bytes_));
        void* memory = MAP_FAILED;
        if (error == 0) {
            memory = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
            if (memory == MAP_FAILED) error = errno;
        }
        if (error != 0) {
            // An empty file tells `lapwing run` that this rank has begun, and has said why it records
            // nothing.
            static_cast<void>(!::truncate(path.c_str(), 0));
            refuse(path, error);
        }
        // The first store to a page would cost as much as many events.
        ::madvise(memory, bytes_, MADV_POPULATE_WRITE);
        header_ = new (memory) Header;
        header_->capacity = capacity;
        events_ = reinterpret_cast<Event*>(static_cast<std::byte*>(memory) + Header::events_at);
    }

    detail::RingPosition position(std::uint16_t thread) const {
        return {header_, events_, header_->written.load() % header_->capacity, thread};
    }
    void count_lost() { header_->written.fetch_add(1, std::memory_order_relaxed); }

  private:
    std::size_t bytes_;
    Header* header_ = nullptr;
    Event* events_ = nullptr;
};

struct Recorder {
    std::mutex mutex;
    std::string path;  // of the rank's files, without suffixes
    std::uint64_t capacity = 0;
    std::vector<std::unique_ptr<Ring>> rings;
    std::vector<Ring*> idle;  // of threads that have ended
    std::uint16_t threads = 0;
    Facts facts;
    std::unique_ptr<Ring> lost;  // counts events without a ring
};
// Never destroyed, because threads of the program may still record when it exits.
Recorder& recorder = *new Recorder;

// The ring of this thread, which it releases at its end.
struct Own {
    Ring* ring = nullptr;
    bool tried = false;

    void take() {
        tried = true;
        const std::lock_guard lock(recorder.mutex);
        const std::uint16_t thread = recorder.threads;
        if (recorder.threads < UINT16_MAX) ++recorder.threads;
        if (!recorder.idle.empty()) {
            ring = recorder.idle.back();
            recorder.idle.pop_back();
        } else {
            if (recorder.rings.size() == max_rings) return;
            try {
                recorder.rings.push_back(std::make_unique<Ring>(
                    fmt::format("{}.{}.events", recorder.path, recorder.rings.size()), recorder.capacity));
                ring = recorder.rings.back().get();
            } catch (const std::exception&) {
                return;
            }
        }
        detail::position = ring->position(thread);
        char name[16] = "";
        ::pthread_getname_np(::pthread_self(), name, sizeof name);
        const bool ours = std::strcmp(name, "lapwing") == 0;
        recorder.facts.add(fmt::format(R"({{"fact":"thread","number":{},"lapwing":{}}})", thread, ours));
    }
    ~Own() {
        if (ring == nullptr) return;
        const std::lock_guard lock(recorder.mutex);
        recorder.idle.push_back(ring);
        ring = nullptr;
        detail::position = {};
    }
};
thread_local Own own;

}  // namespace

void open(const std::string& directory, int rank, std::uint64_t capacity) {
    const std::lock_guard lock(recorder.mutex);
    recorder.path = fmt::format("{}/{}", directory, rank);
    recorder.capacity = capacity;
    recorder.facts.create(recorder.path + ".facts");
    // Makes the first ring now, so that a full disk is reported before the program runs.
    recorder.rings.push_back(std::make_unique<Ring>(recorder.path + ".0.events", capacity));
    recorder.idle.push_back(recorder.rings.back().get());
    recorder.lost = std::make_unique<Ring>(recorder.path + ".lost.events", 0);
    detail::recording.store(true, std::memory_order_release);
}

std::string close() {
    detail::recording.store(false, std::memory_order_release);
    const std::lock_guard lock(recorder.mutex);
    return recorder.facts.error();
}

void detail::record_first(const Event& event) {
    if (!own.tried) own.take();
    if (own.ring == nullptr) return recorder.lost->count_lost();
    record(event);
}

void add_metadata(const std::string& json) {
    if (!on()) return;
    const std::lock_guard lock(recorder.mutex);
    recorder.facts.add(json);
}

std::uint64_t parse_capacity(const char* variable, const std::string& value) {
    return number_in(variable, value, min_events, max_events);
}

}  // namespace lapwing::trace
