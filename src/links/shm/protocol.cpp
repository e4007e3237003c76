#include "links/shm/protocol.hpp"

namespace lapwing::shm {

template class Protocol<Linux>;

}  // namespace lapwing::shm
