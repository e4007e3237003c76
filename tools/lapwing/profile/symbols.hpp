// From addresses in programs and libraries to functions and source lines, by their symbols and DWARF
// (elfutils).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace lapwing::tool {

struct Symbol {
    std::string function;  // empty: unknown
    std::string file;      // of the source; empty: unknown
    int line = 0;
};

class Symbols {
  public:
    Symbols();
    ~Symbols();
    // `offset`: from the beginning of the module as it is loaded. What is not known stays empty.
    Symbol find(const std::string& module, std::uint64_t offset);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace lapwing::tool
