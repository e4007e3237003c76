#include "program/compute.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.hpp"
#include "program/clock.hpp"

namespace lapwing::bench {

namespace {

volatile double result_of_work = 1;

}  // namespace

[[gnu::noinline]] void work(std::uint64_t operations) {
    double x = result_of_work;
    for (std::uint64_t i = 0; i < operations; ++i) x = x * 0.9999999 + 1e-7;
    result_of_work = x;
}

void sleep_until(double moment) {
    timespec time{};
    time.tv_sec = static_cast<time_t>(moment);
    time.tv_nsec = static_cast<long>((moment - std::floor(moment)) * 1e9);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr) == EINTR) continue;
}

void Block::run() const {
    switch (kind) {
        case Compute::work:
        case Compute::automatic:
            work(amount);
            break;
        case Compute::sleep:
            sleep_until(now() + seconds);
            break;
        case Compute::dgemm:
            for (std::uint64_t i = 0; i < amount; ++i) multiply(order);
            break;
    }
}

void Block::scale(double factor, int parts) {
    const auto of_part = static_cast<std::uint64_t>(static_cast<double>(amount) * factor / parts);
    amount = std::max<std::uint64_t>(of_part, 1) * static_cast<std::uint64_t>(parts);
}

Block Block::part(int parts) const {
    Block result = *this;
    result.amount = std::max<std::uint64_t>(amount / static_cast<std::uint64_t>(parts), 1);
    result.seconds = seconds / parts;
    return result;
}

double Block::flops() const {
    return kind == Compute::dgemm ? 2.0 * order * order * order * static_cast<double>(amount) : 0;
}

void Block::describe(nlohmann::json& described) const {
    described["block_seconds"] = seconds;
    if (kind == Compute::dgemm) {
        described["block_products"] = amount;
        described["block_order"] = order;
        described["block_flops"] = flops();
    } else {
        described["block_operations"] = kind == Compute::work ? amount : 0;
    }
}

void Block::repeat(const nlohmann::json& described) {
    described.at("block_seconds").get_to(seconds);
    if (kind == Compute::dgemm) described.at("block_order").get_to(order);
    described.at(kind == Compute::dgemm ? "block_products" : "block_operations").get_to(amount);
}

namespace {

// cblas_dgemm(): order, transpositions, rows, columns, inner, alpha, a, b, beta, c with leading dimensions.
using Dgemm = void (*)(int, int, int, int, int, int, double, const double*, int, const double*, int, double,
                       double*, int);
constexpr int row_major = 101;
constexpr int not_transposed = 111;

Dgemm load_dgemm() {
    // A rank has one processor; threads of OpenBLAS would compete for the others'.
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    void* library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        throw Error(
            ErrorCode::unsupported,
            fmt::format("matrix products need OpenBLAS (Debian's package libopenblas0): {}", dlerror()));
    }
    const auto dgemm = reinterpret_cast<Dgemm>(dlsym(library, "cblas_dgemm"));
    if (dgemm == nullptr)
        throw Error(ErrorCode::unsupported, "libopenblas.so.0 has no cblas_dgemm; install one with CBLAS");
    return dgemm;
}

}  // namespace

void multiply(int order) {
    constexpr std::size_t elements = static_cast<std::size_t>(max_order) * max_order;
    static const Dgemm dgemm = load_dgemm();
    static const std::vector<double> left(elements, 0.5);
    static const std::vector<double> right(elements, 0.25);
    static std::vector<double> product(elements);
    dgemm(row_major, not_transposed, not_transposed, order, order, order, 1.0, left.data(), order,
          right.data(), order, 0.0, product.data(), order);
}

}  // namespace lapwing::bench
