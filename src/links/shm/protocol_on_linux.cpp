#include "links/shm/protocol.hpp"

#include "links/shm/protocol_steps.hpp"

namespace lapwing::shm {

template class Protocol<Linux>;

}  // namespace lapwing::shm
