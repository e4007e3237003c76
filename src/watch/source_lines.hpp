// From addresses of this process to lines of its source, by DWARF (elfutils), which is loaded when the first
// address is asked for.
#pragma once

#include <memory>
#include <string>

namespace lapwing::watch {

class SourceLines {
  public:
    SourceLines();
    ~SourceLines();
    // "solver.c:88" for the call that returns to this address; "solver+0x1a2b" without debug information.
    // Empty if the address is null.
    std::string before(const void* return_address);

  private:
    struct Session;
    std::unique_ptr<Session> session_;
};

}  // namespace lapwing::watch
