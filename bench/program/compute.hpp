// What the ranks do while a collective is in flight: an amount of work, a sleep, or matrix products.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "program/settings.hpp"

namespace lapwing::bench {

// What the ranks do while a collective is in flight: an amount of work, or a sleep.

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
    // Adds what repeats it to an engine's JSON.
    void describe(nlohmann::json& engine) const;
};

// Matrix products by OpenBLAS, which is loaded for the first one: linked, it would start its threads in every
// benchmark.
class Blas {
  public:
    // Throws Error (unsupported) that says what to install when there is no OpenBLAS.
    static Blas& get();

    static constexpr int max_order = 256;
    // One product of two square matrices of this order, on the calling thread.
    void multiply(int order);

  private:
    // cblas_dgemm(): order, transpositions, rows, columns, inner, alpha, a, b, beta, c with leading
    // dimensions.
    using Dgemm = void (*)(int, int, int, int, int, int, double, const double*, int, const double*, int,
                           double, double*, int);
    Blas();

    Dgemm dgemm_ = nullptr;
    std::vector<double> left_;
    std::vector<double> right_;
    std::vector<double> product_;
};

}  // namespace lapwing::bench
