// Folds a sequence of calls while it grows: a run of elements that repeats becomes a loop, and loops that
// repeat become part of outer loops. Time and memory are bounded: each call costs a few look-ups on average,
// whatever the length of the sequence, and only the last elements are kept. Older ones must be taken away.
//
// Loops with the same body are equal, however many passes they make, so that a loop whose number of passes
// varies can be part of an outer loop: the numbers of its passes are a list then.
//
// Two runs are found to be equal by their hashes: hash(i, j) of any run follows from hashes of prefixes, as
// in the algorithm of Karp and Rabin. Runs are compared in full before they are folded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "recording/recording.hpp"

namespace lapwing::recording {

class Folding {
  public:
    static constexpr std::size_t default_window = 8192;

    // A call or a loop.
    struct Element {
        std::string call;           // encoded arguments; empty: a loop
        Times times;                // of the call
        Passes passes;              // of the loop
        std::vector<Element> body;  // of the loop
        std::uint64_t hash = 0;     // of the call, or of the body
        std::size_t weight = 1;     // calls, those of bodies counted once

        bool is_loop() const { return !body.empty(); }
        bool operator==(const Element& other) const;  // in all but times and passes
        void add(const Element& later);               // times and passes of an equal element that follows
        void add_pass();
    };

    // Finds loops whose body has at most `window` elements.
    explicit Folding(std::size_t window = default_window) : window_(window) {}

    void add(std::string_view call, const Time& time);
    const std::vector<Element>& elements() {
        settle();
        return elements_;
    }

    // Whether take_oldest() must be called.
    bool is_full() const { return elements_.size() >= 2 * window_ || weight_ >= 8 * window_; }
    // Removes at least half of the elements, the older ones, and returns them.
    std::vector<Element> take_oldest();

  private:
    static constexpr std::size_t none = SIZE_MAX;
    using Heads = std::unordered_map<std::uint64_t, std::size_t>;

    void settle();
    void append(std::string_view call, const Time& time);
    std::uint64_t hash_of(std::size_t begin, std::size_t end) const;
    bool are_equal(std::size_t begin, std::size_t other, std::size_t length) const;
    bool fold();
    bool continue_loop();
    bool begin_loop();
    void push(Element element);
    Element pop();

    std::size_t window_;
    std::size_t weight_ = 0;
    std::vector<Element> elements_;
    // Of calls that repeat the first ones of the loop at the end: they are no elements before they differ
    // from the loop, and belong to it once they are a whole pass.
    std::vector<Time> pass_;
    std::vector<std::uint64_t> prefixes_{0};  // hash of the elements before each position
    std::vector<std::uint64_t> powers_{1};
    // The last element with a hash, and the last loop whose body ends with an element of that hash; the one
    // before each.
    Heads last_element_, last_loop_;
    std::vector<std::size_t> element_before_, loop_before_;
};

}  // namespace lapwing::recording
