// The tests' deferred work is that of libfabric's provider `sockets`, which does it in software. Set before
// an engine is asked whether it is available.
#include <cstdlib>

namespace {

[[maybe_unused]] const bool provider_is_named = ::setenv("LAPWING_TRIGGER_PROVIDER", "sockets", 1) == 0;

}  // namespace
