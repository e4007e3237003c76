// What the functions of MPI do, by their names. Recordings, snapshots and traces carry names.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "task/problem.hpp"

namespace lapwing {

struct MpiFunction {
    // With the fields of recording::Call that a recorded call of the kind has.
    enum class Kind : std::uint8_t {
        collective,  // communicator, peer (root), sent, received, counts, type, operation
        send,        // communicator, peer, tag, sent
        receive,     // communicator, source, receive_tag, received. MPI_Mrecv: no source, it follows a probe
        exchange,    // MPI_Sendrecv: a send and a receive at once
        probe,       // communicator, source, receive_tag, completed
        start,       // requests: persistent ones
        complete,    // requests, completed
        release,     // MPI_Request_free: requests
        communicator,  // makes a communicator: collective over `communicator`
        other,         // files, windows, MPI_Finalize: only times
    };
    enum class Form : std::uint8_t {
        blocking,
        nonblocking,  // `requests` has the slot of the request that the call makes
        persistent,   // the same; the operation runs at each MPI_Start of that slot
    };

    Kind kind = Kind::other;
    Form form = Form::blocking;
    std::optional<Collective> collective = {};
    // Kind complete: how many requests it waits for.
    enum class Waits : std::uint8_t { none, one, any, some, all } waits = Waits::none;
    bool polls = false;        // returns at once, complete or not
    bool synchronous = false;  // MPI_Ssend and its forms: complete when the receive has begun
    // Kinds communicator and other: returns only when all ranks of its communicator, of its window or of its
    // file have called it.
    bool synchronizes = false;

    bool sends() const { return kind == Kind::send || kind == Kind::exchange; }
    bool receives() const { return kind == Kind::receive || kind == Kind::exchange || kind == Kind::probe; }

    // Accepts "MPI_Ialltoallv", "MPIX_Bcast_init", "MPI_Send_c".
    static MpiFunction of(std::string_view name);
};

}  // namespace lapwing
