#include "simulate/noise.hpp"

#include <cmath>

#include "simulate/random.hpp"

namespace lapwing::simulate {

NoiseStream::NoiseStream(const Noise& noise, std::uint64_t processor)
    : processor_(static_cast<std::uint32_t>(noise.together ? 0 : processor)) {
    switch (noise.kind) {
        case Noise::Kind::none:
            return;
        case Noise::Kind::periodic: {
            const double share = random_share(noise.seed, processor_, 0);
            start_ = static_cast<Time>(share * static_cast<double>(noise.period)) - noise.period;
            end_ = start_ + noise.length;
            break;
        }
        case Noise::Kind::poisson:
            start_ = end_ = 0;
            go_to_next(noise);
            break;
    }
    skip(noise, 0);
}

void NoiseStream::go_to_next(const Noise& noise) {
    if (noise.kind == Noise::Kind::poisson) {
        const double share = random_share(noise.seed, processor_, ++number_);
        start_ = end_ + std::llround(-std::log1p(-share) * static_cast<double>(noise.period - noise.length));
    } else {
        start_ += noise.period;
    }
    end_ = start_ + noise.length;
}

// To the first interruption that ends after this time.
void NoiseStream::skip(const Noise& noise, Time until) {
    if (noise.kind == Noise::Kind::periodic && end_ <= until) {
        const Time rounds = (until - end_) / noise.period * noise.period;
        start_ += rounds;
        end_ += rounds;
    }
    while (end_ <= until) go_to_next(noise);
}

Time NoiseStream::finish_interrupted(const Noise& noise, Time begin, Time work) {
    skip(noise, begin);
    Time now = begin;
    while (now + work > start_ || now > start_) {
        if (now < start_) work -= start_ - now;
        now = end_;
        go_to_next(noise);
    }
    return now + work;
}

}  // namespace lapwing::simulate
