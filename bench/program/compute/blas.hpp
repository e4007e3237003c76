// Matrix products by OpenBLAS, which is loaded for the first one: linked, it would start its threads in every
// benchmark.
#pragma once

#include <vector>

namespace lapwing::bench {

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
