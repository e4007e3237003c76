// What the functions of MPI do, by their names. Snapshots and traces carry names.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "task/problem.hpp"

namespace lapwing {

struct MpiFunction {
    enum class Kind : std::uint8_t {
        collective,
        send,
        receive,
        exchange,  // MPI_Sendrecv: a send and a receive at once
        probe,
        start,  // persistent requests
        complete,
        release,       // MPI_Request_free
        communicator,  // makes a communicator: collective over one
        other,         // files, windows, MPI_Finalize
    };
    enum class Form : std::uint8_t {
        blocking,
        nonblocking,
        persistent,  // the operation runs at each MPI_Start
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
