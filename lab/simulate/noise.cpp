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
    const auto random_time = [&](Time below) {
        return static_cast<Time>(random_share(noise.seed, processor_, 0) * static_cast<double>(below));
    };
    switch (noise.kind) {
        case Noise::Kind::none:
            return;
        case Noise::Kind::periodic:
            start_ = random_time(noise.period) - noise.period;
            end_ = start_ + noise.length;
            break;
        case Noise::Kind::poisson:
            start_ = end_ = 0;
            go_to_next(noise);
            break;
        case Noise::Kind::trace:
            origin_ = -random_time(noise.trace->period);
            start_ = origin_ + noise.trace->interruptions.front().start;
            end_ = start_ + noise.trace->interruptions.front().length;
            break;
    }
    skip(noise, 0);
}

void NoiseStream::go_to_next(const Noise& noise) {
    switch (noise.kind) {
        case Noise::Kind::none:
            return;
        case Noise::Kind::periodic:
            start_ += noise.period;
            end_ = start_ + noise.length;
            return;
        case Noise::Kind::poisson: {
            const double share = random_share(noise.seed, processor_, ++number_);
            start_ =
                end_ + std::llround(-std::log1p(-share) * static_cast<double>(noise.period - noise.length));
            end_ = start_ + noise.length;
            return;
        }
        case Noise::Kind::trace: {
            const auto& all = noise.trace->interruptions;
            if (++number_ == all.size()) {
                number_ = 0;
                origin_ += noise.trace->period;
            }
            start_ = origin_ + all[number_].start;
            end_ = start_ + all[number_].length;
            return;
        }
    }
}

// To the first interruption that ends after this time.
void NoiseStream::skip(const Noise& noise, Time until) {
    if (noise.kind == Noise::Kind::periodic && end_ <= until) {
        const Time rounds = (until - end_) / noise.period;
        start_ += rounds * noise.period;
        end_ += rounds * noise.period;
    }
    if (noise.kind == Noise::Kind::trace && end_ <= until) {
        origin_ += (until - end_) / noise.trace->period * noise.trace->period;
        start_ = origin_ + noise.trace->interruptions[number_].start;
        end_ = start_ + noise.trace->interruptions[number_].length;
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
