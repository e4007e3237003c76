// From addresses of this process to lines of its source.
#pragma once

#include <optional>
#include <string>

#include "watch/symbols.hpp"

namespace lapwing::watch {

class SourceLines {
  public:
    // "solver.c:88" for the call that returns to this address; "solver+0x1a2b" without debug information.
    // Empty if the address is null.
    std::string before(const void* return_address);

  private:
    std::optional<Symbols> symbols_;
};

}  // namespace lapwing::watch
