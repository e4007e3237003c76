#include "mpi/job/runtime.hpp"

namespace lapwing {

Runtime runtime;

}  // namespace lapwing
