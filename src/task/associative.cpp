#include "task/associative.hpp"

#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>

#include "task/binned.hpp"

namespace lapwing {
namespace {

template <typename Real>
struct Sum {
    using Program = Real;
    using Form = Binned;
    static Binned encode(Real number) { return binned::of(number); }
    static Real decode(const Binned& sum) { return binned::rounded<Real>(sum); }
};

template <typename Real, Operator op>
struct Extreme {
    using Program = Real;
    using Form = std::make_signed_t<typename Places<Real>::Bits>;
    using Limits = std::numeric_limits<Form>;
    // No number has this key, because the numbers end with the infinities.
    static constexpr Form not_a_number = op == Operator::maximum ? Limits::max() : Limits::min();

    static Form encode(Real number) {
        if (number != number) return not_a_number;
        const auto bits = std::bit_cast<Form>(number);
        return bits < 0 ? static_cast<Form>(bits ^ Limits::max()) : bits;
    }
    static Real decode(Form key) {
        if (key == not_a_number) return std::numeric_limits<Real>::quiet_NaN();
        return std::bit_cast<Real>(key < 0 ? static_cast<Form>(key ^ Limits::max()) : key);
    }
};

Type part_of(Type type) {
    return type == Type::complex64 ? Type::float32 : type == Type::complex128 ? Type::float64 : type;
}

}  // namespace

template <typename Visit>
void AssociativeForm::with_elements(Visit visit) const {
    switch (op_) {
        case Operator::sum:
            if (type_ == Type::float64) visit(Sum<double>());
            if (type_ == Type::float32) visit(Sum<float>());
            if (type_ == Type::float16) visit(Sum<Float16>());
            if (type_ == Type::bfloat16) visit(Sum<BFloat16>());
            break;
        case Operator::minimum:
            if (type_ == Type::float64) visit(Extreme<double, Operator::minimum>());
            if (type_ == Type::float32) visit(Extreme<float, Operator::minimum>());
            break;
        case Operator::maximum:
            if (type_ == Type::float64) visit(Extreme<double, Operator::maximum>());
            if (type_ == Type::float32) visit(Extreme<float, Operator::maximum>());
            break;
        default:
            break;
    }
}

std::optional<AssociativeForm> AssociativeForm::of(Operator op, Type type) {
    AssociativeForm form(op, part_of(type));
    bool found = false;
    form.with_elements([&](auto element) {
        found = true;
        form.growth_ = sizeof(typename decltype(element)::Form) / sizeof(typename decltype(element)::Program);
    });
    return found ? std::optional(form) : std::nullopt;
}

Type AssociativeForm::type() const {
    if (op_ == Operator::sum) return Type::binned;
    return type_ == Type::float64 ? Type::int64 : Type::int32;
}

void AssociativeForm::encode(std::byte* to, const std::byte* from, std::uint64_t count) const {
    with_elements([&](auto element) {
        using Element = decltype(element);
        for (const std::byte* const end = from + count; from != end;
             from += sizeof(typename Element::Program)) {
            typename Element::Program number;
            std::memcpy(&number, from, sizeof number);
            const auto encoded = Element::encode(number);
            std::memcpy(to, &encoded, sizeof encoded);
            to += sizeof encoded;
        }
    });
}

void AssociativeForm::decode(std::byte* elements, std::uint64_t count) const {
    with_elements([&](auto element) {
        using Element = decltype(element);
        const std::byte* from = elements;
        for (std::byte* const end = elements + count; elements != end;) {
            typename Element::Form encoded;
            std::memcpy(&encoded, from, sizeof encoded);
            const auto number = Element::decode(encoded);
            std::memcpy(elements, &number, sizeof number);
            elements += sizeof number;
            from += sizeof encoded;
        }
    });
}

}  // namespace lapwing
