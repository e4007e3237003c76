// What `lapwing-gdb.py` reads of a process or a core dump: addresses, and offsets of members, by name. Debug
// information is not needed, and the script does not depend on how the classes are laid out. A member that
// moves changes nothing; one that is renamed or removed keeps its name here, or its row leaves the table and
// the script prints less.
#include <cstddef>
#include <cstdint>

#include "collectives/algorithm.hpp"
#include "engines/host/prepared.hpp"
#include "mpi/requests/communicator.hpp"
#include "mpi/requests/request_table.hpp"
#include "watch/journal.hpp"

namespace lapwing {

struct DebuggerRow {
    const char* name;  // null: the end of the table
    std::uint64_t value;
};

#define LAPWING_ENGINE(name) const Engine& name##_engine();
#include "engines/catalogue.def"

namespace {

constexpr const char* collectives_names[] = {
#define LAPWING_COLLECTIVE(name, mpi_name, also, traits) #name,
#include "task/collectives.def"
    nullptr};
constexpr const char* functions_names[] = {
#define LAPWING_COLLECTIVE(name, mpi_name, also, traits) mpi_name,
#include "task/collectives.def"
    nullptr};
constexpr const char* operators_names[] = {
#define LAPWING_OPERATOR(name, groups, expression) #name,
#include "task/operators.def"
    "user", nullptr};
constexpr const char* types_names[] = {
#define LAPWING_TYPE(name, type, group) #name,
#include "task/types.def"
    "opaque", nullptr};

struct EngineName {
    const Engine* engine;
    const char* name;
};
const EngineName engine_names[] = {
#define LAPWING_ENGINE(name) {&name##_engine(), #name},
#include "engines/catalogue.def"
    {nullptr, nullptr}};

std::uint64_t address(const void* object) {
    return reinterpret_cast<std::uintptr_t>(object);
}

}  // namespace

// With access to what is private.
struct DebuggerTable {
// Offsets in classes with virtual functions and the like: GCC and Clang know them.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
    static constexpr std::uint64_t by_state = offsetof(RequestTable, by_state_);
#define LAPWING_MEMBER(name, type, member) {name, offsetof(type, member)},
    static constexpr DebuggerRow members[] = {
        LAPWING_MEMBER("request.error", Request, error)                         //
        LAPWING_MEMBER("request.group", Request, group)                         //
        LAPWING_MEMBER("request.plan", Request, plan)                           //
        LAPWING_MEMBER("request.collective", Request, collective)               //
        LAPWING_MEMBER("request.operation", Request, operation)                 //
        LAPWING_MEMBER("request.channel", Request, channel)                     //
        LAPWING_MEMBER("request.persistent", Request, persistent)               //
        LAPWING_MEMBER("request.began", Request, began)                         //
        LAPWING_MEMBER("request.call_site", Request, buffers.call_site)         //
        LAPWING_MEMBER("communicator.handle", Communicator, communicator)       //
        LAPWING_MEMBER("communicator.rank", Communicator, rank)                 //
        LAPWING_MEMBER("communicator.ranks", Communicator, ranks)               //
        LAPWING_MEMBER("communicator.engine", Communicator, engine_used)        //
        LAPWING_MEMBER("communicator.collectives", Communicator, next_channel)  //
        LAPWING_MEMBER("plan.problem", Plan, problem)                           //
        LAPWING_MEMBER("plan.algorithm", Plan, choice.algorithm)                //
        LAPWING_MEMBER("plan.parameters", Plan, choice.parameters)              //
        LAPWING_MEMBER("plan.engine", Plan, engine)                             //
        LAPWING_MEMBER("plan.tasks", Plan, tasks)                               //
        LAPWING_MEMBER("problem.root", Problem, root)                           //
        LAPWING_MEMBER("problem.bytes", Problem, bytes)                         //
        LAPWING_MEMBER("problem.in_place", Problem, in_place)                   //
        LAPWING_MEMBER("problem.ordered", Problem, ordered)                     //
        LAPWING_MEMBER("problem.operator", Problem, op)                         //
        LAPWING_MEMBER("problem.type", Problem, type)                           //
        LAPWING_MEMBER("problem.element", Problem, element)                     //
        LAPWING_MEMBER("problem.parts", Problem, parts)                         //
        LAPWING_MEMBER("problem.placement", Problem, placement)                 //
        LAPWING_MEMBER("algorithm.name", Algorithm, name)                       //
        LAPWING_MEMBER("algorithm.parameters", Algorithm, parameters)           //
        LAPWING_MEMBER("journal.threads", watch::JournalRoot, threads) LAPWING_MEMBER(
            "journal.communicators", watch::JournalRoot,
            communicators) LAPWING_MEMBER("journal.types", watch::JournalRoot, types)
            LAPWING_MEMBER("journal.operations", watch::JournalRoot, operations) LAPWING_MEMBER(
                "record.next", watch::CommunicatorRecord, next_)
                LAPWING_MEMBER("record.handle", watch::CommunicatorRecord, handle_) LAPWING_MEMBER(
                    "record.serials", watch::CommunicatorRecord, serials_)
                    LAPWING_MEMBER("record.base", watch::CommunicatorRecord, base_) LAPWING_MEMBER(
                        "record.calls", watch::CommunicatorRecord, calls_)
                        LAPWING_MEMBER("record.name", watch::CommunicatorRecord, name_) LAPWING_MEMBER(
                            "call.state", watch::CallRecord, state)
                            LAPWING_MEMBER("call.function", watch::CallRecord, function) LAPWING_MEMBER(
                                "call.site", watch::CallRecord, site) LAPWING_MEMBER("call.began",
                                                                                     watch::CallRecord, began)
                                LAPWING_MEMBER("call.arguments", watch::CallRecord, what) LAPWING_MEMBER(
                                    "call.length", watch::CallRecord, bytes)
                                    LAPWING_MEMBER("thread.next", watch::ThreadRecord, next) LAPWING_MEMBER(
                                        "thread.used", watch::ThreadRecord, used)
                                        LAPWING_MEMBER("thread.state", watch::ThreadRecord, state)
                                            LAPWING_MEMBER("thread.function", watch::ThreadRecord, function)
                                                LAPWING_MEMBER("thread.site", watch::ThreadRecord, site)
                                                    LAPWING_MEMBER("thread.began", watch::ThreadRecord, began)
                                                        LAPWING_MEMBER("thread.communicator",
                                                                       watch::ThreadRecord, communicator)
                                                            LAPWING_MEMBER("thread.partner",
                                                                           watch::ThreadRecord, partner)};
#undef LAPWING_MEMBER
#pragma GCC diagnostic pop
};

namespace {

// Filled when the library is loaded.
struct Table {
    DebuggerRow rows[80] = {};
    Table() {
        std::size_t used = 0;
        const auto add = [&](const char* name, std::uint64_t value) { rows[used++] = {name, value}; };
        add("version", 1);
        add("requests.by_state", address(&request_table) + DebuggerTable::by_state);
        add("state.running", static_cast<std::uint64_t>(Request::State::running));
        add("state.complete", static_cast<std::uint64_t>(Request::State::complete));
        add("communicators", address(&communicators_for_debuggers));
        add("communicator.handle.bytes", sizeof(MPI_Comm));
        add("parameter.bytes", sizeof(Parameter));
        add("collectives", address(collectives_names));
        add("functions", address(functions_names));
        add("operators", address(operators_names));
        add("types", address(types_names));
        add("engines", address(engine_names));
        add("host.step", HostPrepared::offset_of_step());
        add("journal", address(&watch::journal_root));
        add("call.bytes", sizeof(watch::CallRecord));
        add("record.remembered", watch::CommunicatorRecord::remembered);
        for (const DebuggerRow& member : DebuggerTable::members) add(member.name, member.value);
        static_assert(std::size(DebuggerTable::members) + 17 <= std::size(decltype(rows){}));
    }
};

}  // namespace

extern "C" {
// Found by its name, also where all other symbols are stripped.
__attribute__((visibility("default"), used)) Table lapwing_debugger_table;
}

}  // namespace lapwing
