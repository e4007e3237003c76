#include "mpi/native/pending_messages.hpp"

namespace lapwing {

PendingMessages& pending_messages = *new PendingMessages;

}  // namespace lapwing
