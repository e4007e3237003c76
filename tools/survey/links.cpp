// How long messages take between each two ranks, one pair after the other, while all others wait.
//
// Latency: half of the fastest of several round trips of a byte. Rate: messages in one direction, as many as
// take a while, after so many that a shaper's credit is spent.
#include <mpi.h>

#include <algorithm>
#include <vector>

#include "survey/main.hpp"

namespace lapwing::survey {
namespace {

constexpr int message_bytes = 65536;
constexpr int round_trips = 20;
constexpr int max_messages = 256;
constexpr double enough_seconds = 0.1;
constexpr int message_tag = 1;

double round_trip(int self, int one, int other, std::vector<char>& buffer) {
    double fastest = 1e9;
    for (int i = 0; i < round_trips; ++i) {
        const double begin = MPI_Wtime();
        if (self == one) {
            MPI_Send(buffer.data(), 1, MPI_BYTE, other, message_tag, MPI_COMM_WORLD);
            MPI_Recv(buffer.data(), 1, MPI_BYTE, other, message_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(buffer.data(), 1, MPI_BYTE, one, message_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(buffer.data(), 1, MPI_BYTE, one, message_tag, MPI_COMM_WORLD);
        }
        fastest = std::min(fastest, MPI_Wtime() - begin);
    }
    return fastest;
}

// Seconds of so many messages and a short answer.
double stream(int self, int from, int to, int messages, std::vector<char>& buffer) {
    const double begin = MPI_Wtime();
    for (int i = 0; i < messages; ++i) {
        if (self == from)
            MPI_Send(buffer.data(), message_bytes, MPI_BYTE, to, message_tag, MPI_COMM_WORLD);
        else
            MPI_Recv(buffer.data(), message_bytes, MPI_BYTE, from, message_tag, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    }
    if (self == to)
        MPI_Send(buffer.data(), 1, MPI_BYTE, from, message_tag, MPI_COMM_WORLD);
    else
        MPI_Recv(buffer.data(), 1, MPI_BYTE, to, message_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return MPI_Wtime() - begin;
}

// Bits per second from one rank to another. Both ranks of the pair call it; the sender's clock decides.
double rate(int self, int from, int to, std::vector<char>& buffer) {
    int messages = 4;
    for (;;) {
        stream(self, from, to, messages, buffer);  // spends the credit
        double seconds = stream(self, from, to, messages, buffer);
        const int peer = self == from ? to : from;
        if (self == from)
            MPI_Send(&seconds, 1, MPI_DOUBLE, peer, message_tag, MPI_COMM_WORLD);
        else
            MPI_Recv(&seconds, 1, MPI_DOUBLE, peer, message_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (seconds > enough_seconds || messages >= max_messages)
            return 8.0 * message_bytes * messages / seconds;
        messages *= 4;
    }
}

}  // namespace

nlohmann::json measure_links(int self, int size) {
    std::vector<char> buffer(message_bytes);
    std::vector<double> rates(static_cast<std::size_t>(size * size), 0);
    std::vector<double> latencies(rates.size(), 0);
    for (int one = 0; one < size; ++one) {
        for (int other = one + 1; other < size; ++other) {
            MPI_Barrier(MPI_COMM_WORLD);
            if (self != one && self != other) continue;
            const double latency = round_trip(self, one, other, buffer) / 2;
            const double there = rate(self, one, other, buffer);
            const double back = rate(self, other, one, buffer);
            if (self != one) continue;
            const auto index = static_cast<std::size_t>(one * size + other);
            const auto reverse = static_cast<std::size_t>(other * size + one);
            latencies[index] = latencies[reverse] = latency;
            rates[index] = there;
            rates[reverse] = back;
        }
    }
    // Each value is known to one rank, and 0 elsewhere.
    const int count = static_cast<int>(rates.size());
    MPI_Allreduce(MPI_IN_PLACE, rates.data(), count, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, latencies.data(), count, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return {{"ranks", size}, {"rates", rates}, {"latencies", latencies}};
}

}  // namespace lapwing::survey
