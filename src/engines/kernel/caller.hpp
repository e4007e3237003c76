// Who is inside the kernel engine.
#pragma once

namespace lapwing::kernel {

enum class Caller {
    program,       // a thread of the program, in one of its calls
    event_thread,  // must leave alone the link to intra-node peers and the program's own reduction function
};

}  // namespace lapwing::kernel
