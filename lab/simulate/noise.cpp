#include "simulate/noise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "base/error.hpp"
#include "base/values.hpp"
#include "simulate/random.hpp"

namespace lapwing::simulate {
namespace {

[[noreturn]] void refuse(const std::string& name, int line, const std::string& why) {
    throw Error(ErrorCode::parse, fmt::format("{}:{}: {}", name, line, why));
}

Time read_nanoseconds(const std::string& word, const char* what, const std::string& name, int line) {
    const std::optional<double> value = parse_real(word);
    if (!value || *value < 0 || *value > 1e15) {
        refuse(name, line, fmt::format("'{}' is not a {} in nanoseconds", word, what));
    }
    return std::llround(*value * static_cast<double>(nanosecond));
}

}  // namespace

NoiseTrace NoiseTrace::parse(std::string_view text, const std::string& name) {
    NoiseTrace trace;
    std::istringstream lines{std::string(text)};
    std::string line;
    for (int number = 1; std::getline(lines, line); ++number) {
        std::istringstream words(line.substr(0, line.find('#')));
        std::string start;
        std::string length;
        std::string more;
        words >> start >> length >> more;
        if (start.empty()) continue;
        if (length.empty() || !more.empty())
            refuse(name, number, "a line must have two numbers: start and duration");
        const Interruption one{read_nanoseconds(start, "start", name, number),
                               read_nanoseconds(length, "duration", name, number)};
        if (!trace.interruptions.empty()) {
            const Interruption& last = trace.interruptions.back();
            if (one.start < last.start) refuse(name, number, "starts must not decrease");
            // One that begins inside another makes that one longer.
            if (one.start <= last.start + last.length) {
                trace.interruptions.back().length =
                    std::max(last.length, one.start + one.length - last.start);
                trace.period = one.start;
                continue;
            }
        }
        trace.interruptions.push_back(one);
        trace.period = one.start;
    }
    // The last line says where the trace ends.
    if (!trace.interruptions.empty() && trace.interruptions.back().start == trace.period) {
        trace.interruptions.pop_back();
    }
    if (trace.interruptions.empty()) {
        throw Error(ErrorCode::parse, fmt::format("{}: a noise trace must have at least two lines", name));
    }
    Interruption& last = trace.interruptions.back();
    last.length = std::min(last.length, trace.period - last.start);
    return trace;
}

NoiseStream::NoiseStream(const Noise& noise, std::uint64_t processor)
    : processor_(static_cast<std::uint32_t>(noise.together ? 0 : processor)) {
    // Where in its noise a processor begins.
    const auto random_time = [&] {
        return static_cast<Time>(random_share(noise.seed, processor_, 0) * static_cast<double>(period_));
    };
    switch (noise.kind) {
        case Noise::Kind::none:
            return;
        case Noise::Kind::periodic:
            period_ = noise.period;
            origin_ = random_time() - period_;
            place(noise);
            break;
        case Noise::Kind::poisson:
            start_ = end_ = 0;
            go_to_next(noise);
            break;
        case Noise::Kind::trace:
            period_ = noise.trace->period;
            origin_ = -random_time();
            place(noise);
            break;
    }
    skip(noise, 0);
}

void NoiseStream::place(const Noise& noise) {
    const bool once = noise.kind == Noise::Kind::periodic;
    const auto [start, length] =
        once ? NoiseTrace::Interruption{0, noise.length} : noise.trace->interruptions[number_];
    start_ = origin_ + start;
    end_ = start_ + length;
}

void NoiseStream::go_to_next(const Noise& noise) {
    if (noise.kind == Noise::Kind::poisson) {
        const double share = random_share(noise.seed, processor_, ++number_);
        start_ = end_ + std::llround(-std::log1p(-share) * static_cast<double>(noise.period - noise.length));
        end_ = start_ + noise.length;
        return;
    }
    if (noise.kind == Noise::Kind::periodic || ++number_ == noise.trace->interruptions.size()) {
        number_ = 0;
        origin_ += period_;
    }
    place(noise);
}

// To the first interruption that ends after this time.
void NoiseStream::skip(const Noise& noise, Time until) {
    if (period_ > 0 && end_ <= until) {
        origin_ += (until - end_) / period_ * period_;
        place(noise);
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
