#include "engines/mlx5/doubles/network.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>

#include "base/error.hpp"

namespace lapwing::mlx5_double {
namespace {

constexpr std::uint64_t inbox_bytes = 256 * 1024;

enum class Seat : std::uint32_t { free, taken, left };

struct Inbox {
    pthread_mutex_t lock;
    Seat seat;
    pid_t process;
    std::uint64_t head;
    std::uint64_t tail;
    std::byte ring[inbox_bytes];

    void put(const void* data, std::size_t bytes) {
        for (std::size_t done = 0; done < bytes;) {
            const std::size_t at = tail % inbox_bytes;
            const std::size_t part = std::min<std::size_t>(bytes - done, inbox_bytes - at);
            std::memcpy(ring + at, static_cast<const std::byte*>(data) + done, part);
            done += part;
            tail += part;
        }
    }
    void take(void* data, std::size_t bytes) {
        for (std::size_t done = 0; done < bytes;) {
            const std::size_t at = head % inbox_bytes;
            const std::size_t part = std::min<std::size_t>(bytes - done, inbox_bytes - at);
            std::memcpy(static_cast<std::byte*>(data) + done, ring + at, part);
            done += part;
            head += part;
        }
    }
};

// Also for a process whose parent has not waited for it.
bool ended(pid_t process) {
    if (kill(process, 0) != 0 && errno == ESRCH) return true;
    const std::string path = fmt::format("/proc/{}/stat", process);
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return true;
    char text[256] = {};
    const ssize_t bytes = read(file, text, sizeof text - 1);
    close(file);
    const char* const name_end = bytes > 0 ? std::strrchr(text, ')') : nullptr;
    return name_end != nullptr && name_end[2] == 'Z';
}

class Locked {
  public:
    explicit Locked(Inbox& inbox) : inbox_(inbox) {
        // A process that ended in here leaves half a packet at worst; its card is gone then.
        if (pthread_mutex_lock(&inbox_.lock) == EOWNERDEAD) pthread_mutex_consistent(&inbox_.lock);
    }
    ~Locked() { pthread_mutex_unlock(&inbox_.lock); }
    Locked(const Locked&) = delete;
    Locked& operator=(const Locked&) = delete;

  private:
    Inbox& inbox_;
};

}  // namespace

struct alignas(64) Network::Shared {
    std::uint32_t cards;
    std::atomic<std::uint32_t> joined;
    std::atomic<std::uint32_t> events;
    std::atomic<std::uint32_t> sleepers;

    Inbox& inbox(std::uint32_t card) { return reinterpret_cast<Inbox*>(this + 1)[card]; }

    void begin(std::uint32_t count) {
        cards = count;
        pthread_mutexattr_t kind;
        pthread_mutexattr_init(&kind);
        pthread_mutexattr_setpshared(&kind, PTHREAD_PROCESS_SHARED);
        pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
        for (std::uint32_t card = 0; card < count; ++card) pthread_mutex_init(&inbox(card).lock, &kind);
        pthread_mutexattr_destroy(&kind);
    }
    static std::size_t bytes(std::uint32_t cards) { return sizeof(Shared) + cards * sizeof(Inbox); }
};

Network::Network(Shared* shared, std::size_t bytes) : shared_(shared), bytes_(bytes) {}

Network::~Network() {
    munmap(shared_, bytes_);
}

std::shared_ptr<Network> Network::of_process(std::uint32_t cards) {
    const std::size_t bytes = Shared::bytes(cards);
    void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw Error(ErrorCode::system, fmt::format("mmap: {}", std::strerror(errno)));
    auto* const shared = static_cast<Shared*>(memory);
    shared->begin(cards);
    return std::shared_ptr<Network>(new Network(shared, bytes));
}

std::uint32_t Network::join() {
    const std::uint32_t card = shared_->joined.fetch_add(1);
    if (card >= shared_->cards)
        throw Error(ErrorCode::system, fmt::format("the double's network has {} cards", shared_->cards));
    Inbox& inbox = shared_->inbox(card);
    const Locked locked(inbox);
    inbox.seat = Seat::taken;
    inbox.process = getpid();
    return card;
}

void Network::leave(std::uint32_t card) {
    {
        Inbox& inbox = shared_->inbox(card);
        const Locked locked(inbox);
        inbox.seat = Seat::left;
    }
    notify();
}

bool Network::gone(std::uint32_t card) const {
    Inbox& inbox = shared_->inbox(card);
    const Locked locked(inbox);
    if (inbox.seat != Seat::taken) return inbox.seat == Seat::left;
    return ended(inbox.process);
}

bool Network::send(std::uint32_t to, const Packet& packet, std::span<const std::byte> payload) {
    {
        Inbox& inbox = shared_->inbox(to);
        const Locked locked(inbox);
        if (inbox.seat == Seat::left) return true;  // lost, as on a wire without a receiver
        if (inbox_bytes - (inbox.tail - inbox.head) < sizeof packet + payload.size()) return false;
        inbox.put(&packet, sizeof packet);
        inbox.put(payload.data(), payload.size());
    }
    notify();
    return true;
}

bool Network::receive(std::uint32_t card, Packet& packet, std::vector<std::byte>& payload) {
    Inbox& inbox = shared_->inbox(card);
    const Locked locked(inbox);
    if (inbox.head == inbox.tail) return false;
    inbox.take(&packet, sizeof packet);
    payload.resize(packet.bytes);
    inbox.take(payload.data(), payload.size());
    return true;
}

void Network::notify() {
    shared_->events.fetch_add(1);
    if (shared_->sleepers.load() > 0)
        syscall(SYS_futex, &shared_->events, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

std::uint32_t Network::events() const {
    return shared_->events.load();
}

void Network::wait(std::uint32_t seen, std::chrono::microseconds limit) const {
    shared_->sleepers.fetch_add(1);
    const timespec time{limit.count() / 1000000, (limit.count() % 1000000) * 1000};
    syscall(SYS_futex, &shared_->events, FUTEX_WAIT, seen, &time, nullptr, 0);
    shared_->sleepers.fetch_sub(1);
}

}  // namespace lapwing::mlx5_double
