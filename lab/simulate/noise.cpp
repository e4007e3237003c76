#include "simulate/noise.hpp"

#include "simulate/random.hpp"

namespace lapwing::simulate {

NoiseStream::NoiseStream(const Noise& noise, std::uint64_t processor) {
    if (noise.period == 0) return;
    const double share = random_share(noise.seed, processor, 0);
    start_ = static_cast<Time>(share * static_cast<double>(noise.period)) - noise.period;
    end_ = start_ + noise.length;
    skip(noise, 0);
}

// To the first interruption that ends after this time.
void NoiseStream::skip(const Noise& noise, Time until) {
    if (end_ > until) return;
    const Time periods = (until - end_) / noise.period + 1;
    start_ += periods * noise.period;
    end_ += periods * noise.period;
}

Time NoiseStream::finish_interrupted(const Noise& noise, Time begin, Time work) {
    skip(noise, begin);
    Time now = begin;
    while (now + work > start_ || now > start_) {
        if (now < start_) work -= start_ - now;
        now = end_;
        skip(noise, now);
    }
    return now + work;
}

}  // namespace lapwing::simulate
