// How a quantity grows with the number of ranks: as a power, with one of few exponents, as Extra-P does it
// (Calotoiu et al. 2013). Few exponents, because few recordings have to tell them apart.
#pragma once

#include <span>
#include <utility>
#include <vector>

namespace lapwing::simulate {

struct Growth {
    double exponent = 0;
    // The exponents that fit nearly as well, from the smallest to the largest.
    double min_exponent = 0;
    double max_exponent = 0;
    double error = 0;  // of the fit: the largest factor by which it misses a value, less 1

    // By which factor the quantity grows from so many ranks to others.
    double factor(double from, double to) const;
    double min_factor(double from, double to) const;
    double max_factor(double from, double to) const;
};

// `values`: (ranks, quantity), with different numbers of ranks. Of three or more, the exponent is the one
// that predicts each value best from the others. A quantity that is 0 somewhere does not grow.
Growth fit_growth(std::span<const std::pair<double, double>> values);

}  // namespace lapwing::simulate
