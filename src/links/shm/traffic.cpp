#include "links/shm/traffic.hpp"

namespace lapwing::shm {

template class Traffic<Linux>;

}  // namespace lapwing::shm
