#include "links/fabrics.hpp"

namespace lapwing {

#define LAPWING_FABRIC(name, may_have_rdma) std::unique_ptr<Fabric> open_##name(const FabricOptions& options);
#include "links/fabrics.def"

std::span<const FabricKind> fabrics() {
    static constexpr FabricKind all[] = {
#define LAPWING_FABRIC(name, may_have_rdma) {#name, may_have_rdma, open_##name},
#include "links/fabrics.def"
    };
    return all;
}

}  // namespace lapwing
