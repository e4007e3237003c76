// libfabric's objects, closed when their owner ends.
#pragma once

#include <rdma/fabric.h>

#include <fmt/format.h>

#include <memory>

#include "base/error.hpp"
#include "links/ofi/library.hpp"

namespace lapwing::ofi {

struct Close {
    template <typename Object>
    void operator()(Object* object) const {
        ::fi_close(&object->fid);
    }
};
template <typename Object>
using Open = std::unique_ptr<Object, Close>;

// Throws Error (unsupported) with the reason, unless `result` is 0.
inline void check(long result, const char* function) {
    if (result != 0) throw Error(ErrorCode::unsupported, fmt::format("{}: {}", function, why(result)));
}

// Calls `function` with the address of a pointer to the object that it opens.
template <typename Object, typename Function>
Open<Object> open(const char* name, Function&& function) {
    Object* object = nullptr;
    check(function(&object), name);
    return Open<Object>(object);
}

}  // namespace lapwing::ofi
