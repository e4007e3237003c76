#include "watch/messages.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace lapwing::watch {

// Short: each rank sends the members of each of its communicators.
void to_json(nlohmann::json& json, const RankRun& run) {
    json = nlohmann::json::array({run.first, run.count, run.stride});
}
void from_json(const nlohmann::json& json, RankRun& run) {
    json.at(0).get_to(run.first);
    json.at(1).get_to(run.count);
    json.at(2).get_to(run.stride);
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Arguments, collective, root, bytes, type, operation, sent, received)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Position, engine, task, tasks, awaited)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CollectiveCall, number, form, arguments, function, where, age, by_lapwing,
                                   in_flight, position)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CommunicatorSnapshot, id, name, members, calls, hash, comparable, recent)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CurrentCall, function, where, age, communicator, peer, tag, waits_for)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RankSnapshot, rank, host, pid, program, communicators, current, last,
                                   messages, silence)

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(JobDescription, job, version, program, ranks, hosts, age, trouble)

namespace {

void wait_for(int descriptor, short events, Deadline deadline, int stop) {
    pollfd waiting[] = {{descriptor, events, 0}, {stop, POLLIN, 0}};
    const int ready = ::poll(waiting, std::size(waiting), time_left(deadline));
    if (ready == 0) throw Error(ErrorCode::link, "no answer in time");
    if (ready < 0 && errno != EINTR) throw_system("poll");
    if (ready > 0 && waiting[1].revents != 0) throw Error(ErrorCode::link, "this rank ends");
}

// Names and paths of the program may be in any encoding: bytes that are not UTF-8 are replaced.
std::vector<std::byte> to_bytes(const nlohmann::json& record) {
    const std::string text = record.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
}

// Throws Error (link) if the bytes are not such a record, or have what to_bytes() makes of no record:
// floating-point numbers, whose conversion to an integer may be undefined, or many nested arrays, which take
// far more memory than their bytes. `what`: for the message.
template <typename Record>
Record from_bytes(std::span<const std::byte> bytes, std::string_view what) {
    constexpr int max_depth = 16;
    const auto check = [&](int depth, nlohmann::json::parse_event_t, const nlohmann::json& value) {
        if (depth > max_depth || value.is_number_float())
            throw Error(ErrorCode::link, "a rank has sent an invalid {}", what);
        return true;
    };
    try {
        const auto* const first = reinterpret_cast<const char*>(bytes.data());
        return nlohmann::json::parse(first, first + bytes.size(), check).template get<Record>();
    } catch (const nlohmann::json::exception& error) {
        throw Error(ErrorCode::link, "a rank has sent an invalid {}: {}", what, error.what());
    }
}

}  // namespace

int time_left(Deadline deadline) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    return static_cast<int>(std::max<std::int64_t>(left, 0));
}

std::optional<Frame> FrameReader::read(int descriptor) {
    constexpr std::size_t piece = 64 << 10;
    while (true) {
        const std::size_t had = input_.size();
        std::size_t wanted = sizeof(FrameHead);
        if (had >= wanted) {
            FrameHead head;
            std::memcpy(&head, input_.data(), sizeof head);
            const std::size_t bytes = head.bytes;
            if (bytes > max_bytes_)
                throw Error(ErrorCode::link, "it announces a message of {} bytes; at most {} are valid",
                            bytes, max_bytes_);
            wanted += bytes;
            if (had == wanted) {
                Frame frame{head.kind, {input_.begin() + sizeof head, input_.end()}};
                input_.clear();
                return frame;
            }
        }
        input_.resize(had + std::min(wanted - had, piece));
        const ssize_t count = ::recv(descriptor, input_.data() + had, input_.size() - had, MSG_DONTWAIT);
        const int error = errno;
        input_.resize(had + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
        if (count == 0) throw Error(ErrorCode::link, "it closed the connection");
        if (count < 0 && error == EAGAIN) return std::nullopt;
        if (count < 0 && error != EINTR) throw Error(ErrorCode::link, std::strerror(error));
    }
}

void send_frame(int descriptor, FrameKind kind, std::span<const std::byte> bytes, Deadline deadline,
                int stop) {
    const FrameHead head{kind, static_cast<std::uint32_t>(bytes.size())};
    for (std::span<const std::byte> rest : {std::as_bytes(std::span(&head, 1)), bytes}) {
        while (!rest.empty()) {
            const ssize_t count = ::send(descriptor, rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
            if (count >= 0)
                rest = rest.subspan(static_cast<std::size_t>(count));
            else if (errno == EAGAIN)
                wait_for(descriptor, POLLOUT, deadline, stop);
            else if (errno == EPIPE || errno == ECONNRESET)
                return;  // the peer's last frame, which may have the reason, is still to be read
            else if (errno != EINTR)
                throw Error(ErrorCode::link, std::strerror(errno));
        }
    }
}

Frame receive_frame(int descriptor, std::size_t max_bytes, Deadline deadline, int stop) {
    FrameReader reader(max_bytes);
    while (true) {
        if (auto frame = reader.read(descriptor)) return std::move(*frame);
        wait_for(descriptor, POLLIN, deadline, stop);
    }
}

std::vector<std::byte> encode(const RankSnapshot& snapshot) {
    return to_bytes(snapshot);
}

RankSnapshot decode(std::span<const std::byte> bytes) {
    RankSnapshot snapshot = from_bytes<RankSnapshot>(bytes, "snapshot");
    for (const CommunicatorSnapshot& communicator : snapshot.communicators) {
        for (const CollectiveCall& call : communicator.recent) {
            if (static_cast<std::size_t>(call.arguments.collective) >= all_collectives().size())
                throw Error(ErrorCode::link, "a snapshot names an unknown collective");
        }
    }
    return snapshot;
}

std::vector<std::byte> encode(const JobDescription& description) {
    return to_bytes(description);
}

JobDescription decode_description(std::span<const std::byte> bytes) {
    return from_bytes<JobDescription>(bytes, "description");
}

}  // namespace lapwing::watch
