#include "recording/functions.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <string>
#include <utility>

namespace lapwing::recording {
namespace {

struct Row {
    std::string_view stem;  // after "MPI_", blocking, without "_init" and "_c"
    Kind kind;
    bool synchronous = false;
};
constexpr Row messages[] = {
    {"Send", Kind::send},         {"Ssend", Kind::send, true},
    {"Rsend", Kind::send},        {"Bsend", Kind::send},
    {"Recv", Kind::receive},      {"Mrecv", Kind::receive},
    {"Sendrecv", Kind::exchange}, {"Sendrecv_replace", Kind::exchange},
    {"Probe", Kind::probe},       {"Mprobe", Kind::probe},
};

bool consume_suffix(std::string_view& text, std::string_view suffix) {
    if (!text.ends_with(suffix)) return false;
    text.remove_suffix(suffix.size());
    return true;
}

// "Ialltoall": "Alltoall", if `text` begins with an I that stands for "immediate".
std::optional<std::string> blocking_form(std::string_view text) {
    if (text.size() < 2 || text[0] != 'I' || std::islower(static_cast<unsigned char>(text[1])) == 0)
        return {};
    std::string stem(text.substr(1));
    stem[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(stem[0])));
    return stem;
}

std::optional<Function> completing(std::string_view name) {
    Function function{.kind = Kind::complete};
    if (name == "Request_get_status") {
        function.waits = Function::Waits::one;
        function.polls = true;
        return function;
    }
    function.polls = name.starts_with("Test");
    if (!function.polls && !name.starts_with("Wait")) return {};
    const std::string_view end = name.substr(4);
    using Waits = Function::Waits;
    constexpr std::pair<std::string_view, Waits> ends[] = {
        {"", Waits::one}, {"any", Waits::any}, {"some", Waits::some}, {"all", Waits::all}};
    const auto* const found = std::ranges::find(ends, end, &std::pair<std::string_view, Waits>::first);
    if (found == std::end(ends)) return {};
    function.waits = found->second;
    return function;
}

}  // namespace

Function function_of(std::string_view name) {
    name.remove_prefix(std::min(name.size(), name.starts_with("MPIX_") ? std::size_t{5} : std::size_t{4}));
    if (const auto function = completing(name)) return *function;
    if (name == "Start" || name == "Startall") return {.kind = Kind::start};
    if (name == "Request_free") return {.kind = Kind::release};
    if ((name.starts_with("Comm_") && name != "Comm_free" && name != "Comm_disconnect") ||
        name.starts_with("Cart_") || name.starts_with("Graph_") || name.starts_with("Dist_graph_") ||
        name.starts_with("Intercomm_")) {
        return {.kind = Kind::communicator,
                .form = name.starts_with("Comm_idup") ? Form::nonblocking : Form::blocking};
    }
    Function function;
    consume_suffix(name, "_c");
    if (consume_suffix(name, "_init")) function.form = Form::persistent;
    std::string stem(name);
    if (const auto blocking = blocking_form(name); blocking && function.form == Form::blocking) {
        stem = *blocking;
        function.form = Form::nonblocking;
    }
    const auto* const row = std::ranges::find(messages, std::string_view(stem), &Row::stem);
    if (row != std::end(messages)) {
        function.kind = row->kind;
        function.synchronous = row->synchronous;
        if (row->kind == Kind::probe && function.form == Form::nonblocking) {  // makes no request
            function.form = Form::blocking;
            function.polls = true;
        }
        return function;
    }
    function.collective = find_collective("MPI_" + stem);
    if (!function.collective) return {};
    function.kind = Kind::collective;
    return function;
}

}  // namespace lapwing::recording
