// All fabrics, in the order in which "auto" tries them.
#pragma once

#include <memory>
#include <span>

#include "links/fabric.hpp"

namespace lapwing {

struct FabricKind {
    const char* name;  // "ucx"
    bool may_have_rdma;
    // Finds the library and opens an endpoint. Throws Error (system) with the reason if the fabric is
    // unavailable: "libucp.so.0 is not installed".
    std::unique_ptr<Fabric> (*open)(const FabricOptions&);
};
std::span<const FabricKind> fabrics();

}  // namespace lapwing
