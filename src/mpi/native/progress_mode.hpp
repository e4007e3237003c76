// Who advances lists and messages: decided by pure functions from facts about the MPI, the system, the
// settings and the other ranks. README.md has the table of cases.
#pragma once

#include <cstdint>
#include <string>

namespace lapwing {

// MPI's levels, in their order.
enum class ThreadLevel : std::uint8_t { single, funneled, serialized, multiple };

// How lists advance when the program is inside a call of the MPI.
enum class Hook : std::uint8_t {
    none,      // there are no lists
    callback,  // the MPI calls Lapwing, which may call the MPI
    thread,    // the MPI calls Lapwing, which must not call the MPI: it asks Lapwing's thread
    polling,   // the MPI has no callback: Lapwing's thread polls
};

// Before MPI_Init.
struct LevelFacts {
    ThreadLevel wanted = ThreadLevel::single;  // by the program
    bool lists_enter = false;                  // lists travel by the MPI's messages
    bool offers_hook = true;
    bool fills_one_host = false;  // all ranks are on one host without spare processors
    std::string messages = "auto";
    std::string progress_thread = "auto";
};
// The level that Lapwing asks the MPI for.
ThreadLevel level_to_ask(const LevelFacts& facts);

// After MPI_Init.
struct ProgressFacts {
    ThreadLevel level = ThreadLevel::single;  // that the MPI provides
    bool gate_is_complete = true;             // every function of this MPI passes the gate
    bool has_membarrier = true;
    Hook hook = Hook::none;
    bool others_stay_out = false;     // lists of another rank must not call the MPI
    std::string fault_tolerant = "";  // why nothing may wait for a peer; empty: it may
    bool fills_one_host = false;
    std::string messages = "auto";         // LAPWING_MESSAGES
    std::string progress_thread = "auto";  // LAPWING_PROGRESS_THREAD
    std::string own_thread = "";           // of the MPI: the variable that started it, "NAME=VALUE"
};

// Of Lapwing's thread.
struct ThreadDuties {
    bool polls_lists = false;  // while the program computes
    // Lists advance in polls only: not while the program is inside the MPI, which advances them then, nor
    // after leave_messages().
    bool lists_in_polls = false;
    // With threads of the program, one may wait inside the MPI for a list that another one has completed:
    // only this thread completes it in the MPI then.
    bool completes_lists = false;
    bool messages = false;     // large messages of the program
    bool runs = false;         // there is a thread
    bool closes_gate = false;  // every call must pass the gate
};

struct ProgressMode {
    // Why Lapwing's thread never polls the MPI; empty: it does, through the gate, also at
    // MPI_THREAD_MULTIPLE. There the MPI admits several threads, but some are not safe for them: files of
    // Open MPI 4 and 5 are not.
    std::string why_never;
    // MPI_THREAD_MULTIPLE. With Hook::thread and Hook::polling, lists that call the MPI do so in Lapwing's
    // thread at any time: the program may wait for them inside.
    bool threads = false;
    Hook hook = Hook::none;
    // Otherwise lists advance without the MPI: the ranks agree on a communicator when it is made, and what
    // needs the MPI (operators, data that the MPI packs) is left to it or to the program's calls.
    bool lists_call_mpi = true;
    std::string why_no_messages;  // of the program, by the thread

    // Whether lists may reduce by functions of the MPI, and so by the program's operators. Where only
    // Lapwing's thread advances lists, an operator would run while the program computes, and may need a lock
    // that the program has.
    bool lists_reduce_by_mpi() const { return lists_call_mpi && hook != Hook::polling; }

    // `over_mpi`: lists travel by the MPI's messages, and the settings admit a thread for them.
    ThreadDuties duties(bool over_mpi) const;
};
ProgressMode progress_mode(const ProgressFacts& facts);

}  // namespace lapwing
