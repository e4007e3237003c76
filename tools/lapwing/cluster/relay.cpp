#include "lapwing/cluster/relay.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace lapwing::tool {
namespace {

// The kernel hands over packets before they are cut to the length of the link, with a header that says how
// to: fewer, longer ones take less time.
constexpr std::size_t header = 10;  // struct virtio_net_hdr, whose file is not for C++
constexpr std::size_t longest = header + 65536 + 64;
constexpr std::size_t short_one = 2048;
constexpr int socket_buffer = 64 << 20;
// Of delayed packets; what comes then is lost, as in a switch whose memory is full.
constexpr std::size_t max_held = std::size_t{512} << 20;
constexpr unsigned batch = 16;

[[noreturn]] void refuse(const std::string& what) {
    throw Error(ErrorCode::system, fmt::format("the relay: {}: {}", what, std::strerror(errno)));
}

std::uint64_t nanoseconds(const timespec& time) {
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U +
           static_cast<std::uint64_t>(time.tv_nsec);
}

std::uint64_t now(clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return nanoseconds(time);
}

// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
std::uint64_t draw(std::uint64_t& state) {
    state += 0x9e3779b97f4a7c15U;
    std::uint64_t z = state;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
}

void set(int socket, int level, int option, int value, const char* what) {
    if (setsockopt(socket, level, option, &value, sizeof value) != 0) refuse(what);
}

// As much as the system allows.
void widen(int socket, int forced, int usual) {
    if (setsockopt(socket, SOL_SOCKET, forced, &socket_buffer, sizeof socket_buffer) != 0)
        setsockopt(socket, SOL_SOCKET, usual, &socket_buffer, sizeof socket_buffer);
}

int open_interface(const std::string& name) {
    const int opened = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (opened < 0) refuse("packet socket");
    set(opened, SOL_PACKET, PACKET_VNET_HDR, 1, "PACKET_VNET_HDR");
    set(opened, SOL_PACKET, PACKET_IGNORE_OUTGOING, 1, "PACKET_IGNORE_OUTGOING");
    set(opened, SOL_PACKET, PACKET_QDISC_BYPASS, 1, "PACKET_QDISC_BYPASS");
    set(opened, SOL_SOCKET, SO_TIMESTAMPNS, 1, "SO_TIMESTAMPNS");
    widen(opened, SO_RCVBUFFORCE, SO_RCVBUF);
    widen(opened, SO_SNDBUFFORCE, SO_SNDBUF);
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_protocol = htons(ETH_P_ALL);
    address.sll_ifindex = static_cast<int>(if_nametoindex(name.c_str()));
    if (address.sll_ifindex == 0 ||
        bind(opened, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        refuse(name);
    return opened;
}

using Bytes = std::unique_ptr<std::byte[]>;

// A link that is down takes nothing, and one that is full drops, as all networks do.
void pass_on(int socket, const std::byte* bytes, std::size_t length) {
    while (send(socket, bytes, length, MSG_DONTWAIT) < 0 && errno == EINTR) continue;
}

// Where a batch of packets is received.
class Batch {
  public:
    Batch() {
        for (Bytes& buffer : buffers_) buffer = std::make_unique_for_overwrite<std::byte[]>(longest);
    }
    std::size_t receive(int socket) {
        for (unsigned i = 0; i < batch; ++i) {
            parts_[i] = {buffers_[i].get(), longest};
            messages_[i].msg_hdr = {};
            messages_[i].msg_hdr.msg_iov = &parts_[i];
            messages_[i].msg_hdr.msg_iovlen = 1;
            messages_[i].msg_hdr.msg_control = control_[i].data();
            messages_[i].msg_hdr.msg_controllen = control_[i].size();
        }
        const int count = recvmmsg(socket, messages_.data(), batch, MSG_DONTWAIT, nullptr);
        return count < 0 ? 0 : static_cast<std::size_t>(count);
    }
    std::size_t length(std::size_t i) const { return messages_[i].msg_len; }
    Bytes& buffer(std::size_t i) { return buffers_[i]; }
    // When the kernel got it, by CLOCK_REALTIME.
    std::uint64_t arrival(std::size_t i) {
        msghdr& about = messages_[i].msg_hdr;
        for (cmsghdr* word = CMSG_FIRSTHDR(&about); word != nullptr; word = CMSG_NXTHDR(&about, word)) {
            if (word->cmsg_level != SOL_SOCKET || word->cmsg_type != SO_TIMESTAMPNS) continue;
            timespec time{};
            std::memcpy(&time, CMSG_DATA(word), sizeof time);
            return nanoseconds(time);
        }
        return now(CLOCK_REALTIME);
    }

  private:
    std::array<Bytes, batch> buffers_;
    std::array<iovec, batch> parts_{};
    std::array<mmsghdr, batch> messages_{};
    struct alignas(cmsghdr) Control : std::array<std::byte, 64> {};
    std::array<Control, batch> control_{};
};

// A delayed packet.
struct Held {
    std::uint64_t due;  // by CLOCK_MONOTONIC
    int socket;
    std::size_t length;
    Bytes bytes;
};

class Relay {
  public:
    explicit Relay(const ClusterShape& shape) : delay_(shape.delay), loss_(shape.loss) {
        for (std::size_t link = 0; link < shape.hosts.size(); ++link) {
            sockets_.push_back({open_interface(relay_interface_to_bridge(link)), POLLIN, 0});
            sockets_.push_back({open_interface(relay_interface_to_host(link)), POLLIN, 0});
            // Each link draws numbers of its own, whatever the others carry.
            std::uint64_t random = shape.seed + link;
            random_.push_back(draw(random));
        }
        const std::size_t bytes = random_.size() * sizeof(Count);
        const std::string path = fmt::format("{}/relay.counts", cluster_directory);
        const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
        if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0) refuse(path);
        void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (memory == MAP_FAILED) refuse(path);
        close(file);
        counts_ = static_cast<Count*>(memory);
    }

    [[noreturn]] void run() {
        // A timer that fires late, or a processor that computes for milliseconds before it lets the relay
        // run, would add to the delay. Without the privilege for it, it does.
        prctl(PR_SET_TIMERSLACK, 1);
        const sched_param least{1};
        sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &least);
        while (true) {
            const std::int64_t left = send_due();
            const timespec limit{left / 1'000'000'000, left % 1'000'000'000};
            if (ppoll(sockets_.data(), sockets_.size(), left < 0 ? nullptr : &limit, nullptr) <= 0) continue;
            for (std::size_t i = 0; i < sockets_.size(); ++i) {
                if (sockets_[i].revents == 0) continue;
                if (i % 2 == 0) {
                    from_bridge(i / 2);
                } else {
                    from_host(i / 2);
                }
                send_due();
            }
        }
    }

  private:
    struct Count {
        std::uint64_t packets;
        std::uint64_t lost;
    };

    int to_bridge(std::size_t link) const { return sockets_[2 * link].fd; }
    int to_host(std::size_t link) const { return sockets_[2 * link + 1].fd; }

    bool loses(std::size_t link) {
        if (loss_ <= 0) return false;
        constexpr double unit = 1.0 / (std::uint64_t{1} << 53U);
        return static_cast<double>(draw(random_[link]) >> 11U) * unit < loss_;
    }

    void from_bridge(std::size_t link) {
        const std::size_t count = batch_.receive(to_bridge(link));
        const std::uint64_t real = now(CLOCK_REALTIME);
        const std::uint64_t time = now(CLOCK_MONOTONIC);
        for (std::size_t i = 0; i < count; ++i) {
            ++counts_[link].packets;
            if (loses(link) || bytes_ > max_held) {
                ++counts_[link].lost;
                continue;
            }
            if (delay_ == 0) {
                pass_on(to_host(link), batch_.buffer(i).get(), batch_.length(i));
                continue;
            }
            // It has waited for this process since it came; a clock that was set must not shift it.
            const std::uint64_t came = batch_.arrival(i);
            const std::uint64_t waited = came < real ? std::min(real - came, delay_) : 0;
            std::uint64_t due = time + delay_ - waited;
            if (!held_.empty()) due = std::max(due, held_.back().due);
            hold(to_host(link), i, due);
        }
    }

    void from_host(std::size_t link) {
        const std::size_t count = batch_.receive(to_host(link));
        for (std::size_t i = 0; i < count; ++i)
            pass_on(to_bridge(link), batch_.buffer(i).get(), batch_.length(i));
    }

    void hold(int socket, std::size_t i, std::uint64_t due) {
        const std::size_t length = batch_.length(i);
        Held one{due, socket, length, nullptr};
        if (length <= short_one) {
            one.bytes = std::make_unique_for_overwrite<std::byte[]>(length);
            std::memcpy(one.bytes.get(), batch_.buffer(i).get(), length);
        } else {
            one.bytes = std::exchange(batch_.buffer(i), take_spare());
        }
        bytes_ += length;
        held_.push_back(std::move(one));
    }

    Bytes take_spare() {
        if (spare_.empty()) return std::make_unique_for_overwrite<std::byte[]>(longest);
        Bytes one = std::move(spare_.back());
        spare_.pop_back();
        return one;
    }

    // Sends what is due; returns the nanoseconds until the next packet is, or -1.
    std::int64_t send_due() {
        while (!held_.empty()) {
            Held& first = held_.front();
            const std::uint64_t time = now(CLOCK_MONOTONIC);
            if (first.due > time) return static_cast<std::int64_t>(first.due - time);
            pass_on(first.socket, first.bytes.get(), first.length);
            bytes_ -= first.length;
            if (first.length > short_one && spare_.size() < 64) spare_.push_back(std::move(first.bytes));
            held_.pop_front();
        }
        return -1;
    }

    const std::uint64_t delay_;  // nanoseconds
    const double loss_;
    std::vector<pollfd> sockets_;        // of each link: to the bridge, to the host
    std::vector<std::uint64_t> random_;  // states of the links' generators, which draw once for each packet
    Count* counts_ = nullptr;
    Batch batch_;
    std::deque<Held> held_;  // all have the same delay, so they leave in the order in which they came
    std::size_t bytes_ = 0;  // of those
    std::vector<Bytes> spare_;
};

}  // namespace

std::string relay_interface_to_bridge(std::size_t link) {
    return fmt::format("bridge{}", link + 1);
}

std::string relay_interface_to_host(std::size_t link) {
    return fmt::format("node{}", link + 1);
}

void relay_packets(const ClusterShape& shape, const std::function<void()>& ready) {
    Relay relay(shape);
    ready();
    relay.run();
}

}  // namespace lapwing::tool
