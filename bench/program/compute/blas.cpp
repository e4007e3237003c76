#include "program/compute/blas.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>

#include "base/error.hpp"

namespace lapwing::bench {
namespace {

constexpr int row_major = 101;
constexpr int not_transposed = 111;

}  // namespace

Blas& Blas::get() {
    static Blas blas;
    return blas;
}

Blas::Blas() {
    // A rank has one processor; threads of OpenBLAS would compete for the others'.
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    void* library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        throw Error(
            ErrorCode::unsupported,
            fmt::format("matrix products need OpenBLAS (Debian's package libopenblas0): {}", dlerror()));
    }
    dgemm_ = reinterpret_cast<Dgemm>(dlsym(library, "cblas_dgemm"));
    if (dgemm_ == nullptr) {
        throw Error(ErrorCode::unsupported, "libopenblas.so.0 has no cblas_dgemm; install one with CBLAS");
    }
    constexpr std::size_t elements = static_cast<std::size_t>(max_order) * max_order;
    for (std::size_t i = 0; i < elements; ++i) {
        left_.push_back(static_cast<double>(i % 7));
        right_.push_back(static_cast<double>(i % 5));
    }
    product_.resize(elements);
}

void Blas::multiply(int order) {
    dgemm_(row_major, not_transposed, not_transposed, order, order, order, 1.0, left_.data(), order,
           right_.data(), order, 0.0, product_.data(), order);
}

}  // namespace lapwing::bench
