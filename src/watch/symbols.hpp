// From addresses in programs and libraries to functions and lines of source, by their symbols and DWARF
// (elfutils).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace lapwing::watch {

struct Symbol {
    std::string function;  // empty: unknown
    std::string file;      // of the source; empty: unknown
    int line = 0;
};

struct Elfutils;  // elfutils.hpp
// Those of libdw.so.1, which the first call loads: a preload library must also load where it is not
// installed. Null: it is not installed.
const Elfutils* loaded_elfutils();

class Symbols {
  public:
    enum class DebugFiles {
        own,           // information that is in the module itself
        separate_too,  // and in files beside it or below /usr/lib/debug: takes seconds for some modules
    };
    // Nothing is asked for over the network. `functions`: null finds nothing.
    Symbols(const Elfutils* functions, DebugFiles files);
    ~Symbols();
    // `offset`: from the beginning of the module as it is loaded (link_map::l_addr).
    Symbol find(const std::string& module, std::uint64_t offset);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

// From addresses of this process to lines of its source.
class SourceLines {
  public:
    // "solver.c:88" for the call that returns to this address; "solver+0x1a2b" without debug information.
    // Empty if the address is null.
    std::string before(const void* return_address);

  private:
    std::optional<Symbols> symbols_;
};

}  // namespace lapwing::watch
