// The rules of Slingshot's cards for deferred work, beyond libfabric's interface. They are asserted on every
// provider, so that tests with another provider find violations. From fi_cxi(7) and the provider's source
// (cxip_dom.c).
#pragma once

#include <rdma/fi_trigger.h>

#include <cstdint>
#include <string>

namespace lapwing::ofi {

// The rule that the work breaks, or empty. `max_counted`: the largest threshold.
std::string broken_rule(const fi_deferred_work& work, std::uint64_t max_counted);

}  // namespace lapwing::ofi
