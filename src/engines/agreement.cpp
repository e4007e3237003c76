#include "engines/agreement.hpp"

#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "base/floating_point.hpp"
#include "engines/local_work.hpp"
#include "task/elements.hpp"

namespace lapwing {
namespace {

// Samples of one group of elements, chosen by overloads. Sums and products of integers fit the type, because
// MPIs differ in what they do at an overflow.
template <typename Number>
void add_samples(std::vector<Number>& samples) {
    if constexpr (std::is_integral_v<Number>) {
        samples = {0, 1, 2, 3, 7, 11};
        if constexpr (std::is_signed_v<Number>) samples.insert(samples.end(), {-1, -2, -11});
    } else {
        using Real = std::conditional_t<is_half<Number>, float, Number>;
        using Limits = std::numeric_limits<Real>;
        for (const Real number :
             {Real{0}, -Real{0}, Real{1}, Real{-1}, Real{1} / 3, Real{-73} / 10, Real{65'504},
              // Half of the last place of 1 in half precision; its subnormal numbers.
              Real{1} / 256, Real{1} / 2048, Real{1} / 16'000'000, Limits::denorm_min(), Limits::max(),
              Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN()})
            samples.push_back(static_cast<Number>(number));
    }
}
template <typename Real>
void add_samples(std::vector<std::complex<Real>>& samples) {
    // The third and the tenth show whether products are rounded before they are added.
    const Real numbers[] = {-Real{0},
                            Real{1},
                            Real{1} / 3,
                            Real{-73} / 10,
                            std::numeric_limits<Real>::infinity(),
                            std::numeric_limits<Real>::quiet_NaN()};
    for (const Real real : numbers) {
        for (const Real imaginary : numbers) samples.push_back({real, imaginary});
    }
}
template <typename Value, typename Index>
void add_samples(std::vector<Pair<Value, Index>>& samples) {
    std::vector<Value> values;
    add_samples(values);
    for (const Value value : values) {
        for (const Index index : {Index{1}, Index{2}}) samples.push_back({value, index});
    }
}

template <typename Number>
bool same(Number one, Number other) {
    if constexpr (std::is_integral_v<Number>)
        return one == other;
    else if constexpr (is_half<Number>)
        return same(static_cast<float>(one), static_cast<float>(other));
    else
        return std::isnan(one) ? std::isnan(other) : one == other && std::signbit(one) == std::signbit(other);
}
template <typename Real>
bool same(std::complex<Real> one, std::complex<Real> other) {
    return same(one.real(), other.real()) && same(one.imag(), other.imag());
}
template <typename Value, typename Index>
bool same(Pair<Value, Index> one, Pair<Value, Index> other) {
    return same<Value>(one.value, other.value) && same<Index>(one.index, other.index);
}

template <typename Element>
std::byte* bytes_of(std::vector<Element>& elements) {
    return reinterpret_cast<std::byte*>(elements.data());
}

template <typename Element>
bool agrees_on(Reducer& other, Operator op, Type type, bool truth) {
    const DefaultFloatingPoint default_floating_point;
    std::vector<Element> samples;
    add_samples(samples);
    if (truth) samples.resize(2);  // 0 and 1
    std::vector<Element> first;
    std::vector<Element> second;
    for (const Element& a : samples) {
        for (const Element& b : samples) {
            first.push_back(a);
            second.push_back(b);
        }
    }
    const std::uint64_t bytes = first.size() * sizeof(Element);
    std::vector<Element> in_order = second;
    std::vector<Element> reversed = first;
    std::vector<Element> own = second;
    other.reduce(bytes_of(in_order), bytes_of(first), bytes);
    other.reduce(bytes_of(reversed), bytes_of(second), bytes);
    reduce(op, type, bytes_of(own), bytes_of(first), bytes);
    for (std::size_t i = 0; i < own.size(); ++i) {
        if (same(in_order[i], reversed[i]) && !same(own[i], in_order[i])) return false;
    }
    return true;
}

}  // namespace

bool agrees(Reducer& other, Operator op, Type type, bool truth) {
    switch (type) {
#define LAPWING_TYPE(name, element, group) \
    case Type::name:                       \
        return agrees_on<element>(other, op, type, truth);
#include "task/types.def"
        case Type::opaque:
            break;
    }
    return false;
}

}  // namespace lapwing
