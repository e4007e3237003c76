// What the ranks do while a collective is in flight: an amount of work, a sleep, or matrix products.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include "program/settings.hpp"

namespace lapwing::bench {

// So many dependent floating-point operations. It is an amount, not a time: when something else uses the
// processor, it takes longer, and so shows stolen time.
void work(std::uint64_t operations);

// Sleeps until that moment; late wake-ups do not add up.
void sleep_until(double moment);

// One block of either, or of matrix products.
struct Block {
    Compute kind = Compute::work;
    std::uint64_t amount = 0;  // operations of work, or products
    double seconds = 0;        // that it is to take
    int order = 0;             // of the matrices

    void run() const;
    // So many times as much, to be divided into so many parts.
    void scale(double factor, int parts);
    Block part(int parts) const;
    double flops() const;  // of the matrix products
    // Adds to a JSON object what repeat() takes from it.
    void describe(nlohmann::json& described) const;
    // The block that was described, of the same kind.
    void repeat(const nlohmann::json& described);
};

// One product of two square matrices, on the calling thread, by OpenBLAS. The library is loaded for the first
// product: linked, it would start its threads in every benchmark. Throws Error (unsupported) that says what
// to install when there is no OpenBLAS.
constexpr int max_order = 256;
void multiply(int order);

}  // namespace lapwing::bench
