// What Slingshot's cards ask of deferred work, beyond what libfabric's interface says: asserted on every
// provider, so that what passes a test by another one could run there. From fi_cxi(7) and the provider's
// source (cxip_dom.c).
#pragma once

#include <rdma/fi_trigger.h>

#include <cstdint>
#include <string>

namespace lapwing::ofi {

// Empty, or the rule that the work breaks. `max_counted`: of a threshold.
std::string broken_rule(const fi_deferred_work& work, std::uint64_t max_counted);

}  // namespace lapwing::ofi
