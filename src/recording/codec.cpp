#include "recording/codec.hpp"

#include <tuple>
#include <unordered_map>

#include "base/error.hpp"

namespace lapwing::recording {
namespace {

constexpr int max_depth = 64;
constexpr std::uint64_t max_occurrences = std::uint64_t{1} << 48;

// Calls each(field) for each field of a call but `requests`, in the order of the bits of the mask.
template <typename SomeCall, typename Each>
void for_each_field(SomeCall& call, Each each) {
    std::apply([&](auto&... field) { (each(field), ...); },
               std::tie(call.site, call.communicator, call.sent, call.received, call.peer, call.source,
                        call.tag, call.receive_tag, call.type, call.operation, call.sent_counts,
                        call.received_counts, call.completed, call.in_place));
}
constexpr int bit_of_requests = 14;

void put(std::string& bytes, std::uint64_t number) {
    for (; number >= 0x80; number >>= 7) bytes += static_cast<char>(number | 0x80);
    bytes += static_cast<char>(number);
}

// 0 is the default of each field. Ranks and tags may be negative; they are at least no_rank.
template <typename Field>
std::uint64_t number_of(Field field) {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(field) -
                                      (std::is_signed_v<Field> ? no_rank : 0));
}

void put(std::string& bytes, const Time& time) {
    put(bytes, time.processor);
    put(bytes, time.wall);
    put(bytes, time.inside);
    put(bytes, time.polls);
}

void put(std::string& bytes, const Times& times) {
    const bool summarized = times.count > Times::max_samples;
    if (summarized) {
        put(bytes, times.sum);
        put(bytes, times.min_inside);
        put(bytes, times.samples.size());
    }
    std::uint64_t before = 0;
    for (const auto& [occurrence, time] : times.samples) {
        if (summarized) put(bytes, occurrence - before);
        before = occurrence;
        put(bytes, time);
    }
}

class Encoder {
  public:
    void add(const Folding::Element& element) {
        if (!element.is_loop()) {
            const auto [found, added] = numbers_.try_emplace(element.call, numbers_.size());
            if (added) {
                put(dictionary_, element.call.size());
                dictionary_ += element.call;
            }
            put(sequence_, found->second << 1);
            put(sequence_, element.times);
            return;
        }
        put(sequence_, std::uint64_t{element.body.size()} << 1 | 1);
        put(sequence_, element.passes.runs().size());
        for (const auto& [passes, times] : element.passes.runs()) {
            put(sequence_, passes);
            put(sequence_, times);
        }
        for (const Folding::Element& inner : element.body) add(inner);
    }

    std::string finish() {
        std::string block;
        put(block, numbers_.size());
        return block + dictionary_ + sequence_;
    }

  private:
    std::unordered_map<std::string_view, std::uint64_t> numbers_;
    std::string dictionary_;
    std::string sequence_;
};

class Decoder {
  public:
    Decoder(std::string_view bytes, Thread& thread) : bytes_(bytes), thread_(thread) {}

    void read() {
        first_ = thread_.calls.size();
        calls_ = number();
        if (calls_ > bytes_.size()) refuse();
        for (std::uint64_t i = 0; i < calls_; ++i) {
            const std::uint64_t length = number();
            if (length > bytes_.size()) refuse();
            const std::string_view rest = bytes_.substr(length);
            bytes_ = bytes_.substr(0, length);
            read_call();
            if (!bytes_.empty()) refuse();
            bytes_ = rest;
        }
        while (!bytes_.empty()) thread_.sequence.push_back(node(1, 0));
    }

  private:
    [[noreturn]] static void refuse() {
        throw Error(ErrorCode::parse, "a block of the recording is damaged");
    }

    std::uint64_t number() {
        std::uint64_t result = 0;
        for (unsigned shift = 0; shift < 64; shift += 7) {
            if (bytes_.empty()) refuse();
            const auto byte = static_cast<unsigned char>(bytes_.front());
            bytes_.remove_prefix(1);
            result |= std::uint64_t{byte & 0x7fu} << shift;
            if (byte < 0x80) return result;
        }
        refuse();
    }

    void read_call() {
        Call call;
        const std::uint64_t mask = number();
        int bit = 0;
        for_each_field(call, [&]<typename Field>(Field& field) {
            if ((mask >> bit++ & 1) == 0) return;
            const auto value = static_cast<std::int64_t>(number()) + (std::is_signed_v<Field> ? no_rank : 0);
            field = static_cast<Field>(value);
        });
        if ((mask >> bit_of_requests & 1) != 0) {
            const std::uint64_t count = number();
            if (count > bytes_.size()) refuse();
            for (std::uint64_t i = 0; i < count; ++i)
                call.requests.push_back(static_cast<std::uint32_t>(number()));
        }
        thread_.calls.push_back(std::move(call));
    }

    Node node(std::uint64_t occurrences, int depth) {
        const std::uint64_t head = number();
        Node result;
        if ((head & 1) == 0) {
            if (head >> 1 >= calls_) refuse();
            result.call = static_cast<std::uint32_t>(first_ + (head >> 1));
            read_times(occurrences, result.times);
            return result;
        }
        const std::uint64_t length = head >> 1;
        if (length == 0 || length > bytes_.size() || depth == max_depth) refuse();
        const std::uint64_t passes = read_passes(occurrences, result.passes);
        for (std::uint64_t i = 0; i < length; ++i) result.body.push_back(node(passes, depth + 1));
        return result;
    }

    // Returns the passes of all visits.
    std::uint64_t read_passes(std::uint64_t visits, Passes& passes) {
        std::uint64_t sum = 0;
        for (std::uint64_t runs = number(); runs > 0; --runs) {
            const std::uint64_t one = number();
            const std::uint64_t times = number();
            if (one == 0 || times == 0 || times > visits || one > (max_occurrences - sum) / times) refuse();
            visits -= times;
            sum += one * times;
            passes.add(one, times);
        }
        if (visits != 0) refuse();
        return sum;
    }

    Time time() {
        Time result;
        result.processor = number();
        result.wall = number();
        result.inside = number();
        result.polls = number();
        return result;
    }

    void read_times(std::uint64_t occurrences, Times& times) {
        if (occurrences <= Times::max_samples) {
            for (std::uint64_t i = 0; i < occurrences; ++i) times.add(time());
            return;
        }
        times.count = occurrences;
        times.sum = time();
        times.min_inside = number();
        const std::uint64_t samples = number();
        if (samples > Times::max_samples) refuse();
        std::uint64_t occurrence = 0;
        for (std::uint64_t i = 0; i < samples; ++i) {
            occurrence += number();
            if (occurrence >= occurrences) refuse();
            times.samples.emplace_back(occurrence, time());
        }
    }

    std::string_view bytes_;
    Thread& thread_;
    std::uint64_t first_ = 0;
    std::uint64_t calls_ = 0;
};

}  // namespace

void encode(const Call& call, std::string& bytes) {
    std::uint64_t mask = 0;
    int bit = 0;
    for_each_field(call, [&](const auto& field) { mask |= std::uint64_t{number_of(field) != 0} << bit++; });
    mask |= std::uint64_t{!call.requests.empty()} << bit_of_requests;
    bytes.clear();
    put(bytes, mask);
    bit = 0;
    for_each_field(call, [&](const auto& field) {
        if ((mask >> bit++ & 1) != 0) put(bytes, number_of(field));
    });
    if (call.requests.empty()) return;
    put(bytes, call.requests.size());
    for (const std::uint32_t slot : call.requests) put(bytes, slot);
}

std::string encode(std::span<const Folding::Element> elements) {
    Encoder encoder;
    for (const Folding::Element& element : elements) encoder.add(element);
    return encoder.finish();
}

void decode(std::string_view block, Thread& thread) {
    Decoder(block, thread).read();
}

}  // namespace lapwing::recording
