// Random choices of test programs: equal on all ranks where they are seeded alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <utility>

class Random {
  public:
    explicit Random(std::uint64_t seed) : engine_(seed) {}
    int below(int limit) { return static_cast<int>(engine_() % static_cast<std::uint64_t>(limit)); }
    int between(int first, int last) { return first + below(last - first + 1); }
    bool one_in(int times) { return below(times) == 0; }
    std::uint64_t seed() { return engine_(); }
    template <typename Container>
    auto& pick(Container& from) {
        return from[static_cast<std::size_t>(below(static_cast<int>(from.size())))];
    }
    template <typename Value>
    Value pick(std::initializer_list<Value> from) {
        return from.begin()[below(static_cast<int>(from.size()))];
    }
    template <typename Container>
    void shuffle(Container& all) {
        for (std::size_t i = all.size(); i > 1; --i)
            std::swap(all[i - 1], all[static_cast<std::size_t>(below(static_cast<int>(i)))]);
    }

  private:
    std::mt19937_64 engine_;
};
