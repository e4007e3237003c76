#include "recording/folding.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace lapwing::recording {
namespace {

constexpr std::uint64_t base = 0x9E3779B97F4A7C15u;
// Earlier elements that are tried for each one that is added.
constexpr int max_tries = 64;

std::uint64_t mix(std::uint64_t word) {
    word = (word ^ word >> 31) * 0xBF58476D1CE4E5B9u;
    return word ^ word >> 29;
}

// A loop whose passes vary more often than that begins anew.
constexpr std::size_t max_runs = 1U << 16;

}  // namespace

bool Folding::Element::operator==(const Element& other) const {
    return hash == other.hash && call == other.call &&
           passes.runs().size() + other.passes.runs().size() <= max_runs && body == other.body;
}

// Of a loop at the end, which has one visit. Its hash does not depend on the passes.
void Folding::Element::add_pass() {
    const std::uint64_t before = passes.at(0);
    passes = {};
    passes.add(before + 1);
}

void Folding::Element::add(const Element& later) {
    times.add(later.times);
    passes.add(later.passes);
    for (std::size_t i = 0; i < body.size(); ++i) body[i].add(later.body[i]);
}

void Folding::add(std::string_view call, const Time& time) {
    if (elements_.empty() || !elements_.back().is_loop() ||
        elements_.back().body[pass_.size()].call != call) {
        settle();
        append(call, time);
        return;
    }
    pass_.push_back(time);
    Element& loop = elements_.back();
    if (pass_.size() < loop.body.size()) return;
    for (std::size_t i = 0; i < pass_.size(); ++i) loop.body[i].times.add(pass_[i]);
    pass_.clear();
    loop.add_pass();
}

// Makes elements of an incomplete pass.
void Folding::settle() {
    std::vector<std::pair<std::string, Time>> calls;
    for (std::size_t i = 0; i < pass_.size(); ++i)
        calls.emplace_back(elements_.back().body[i].call, pass_[i]);
    pass_.clear();
    for (const auto& [call, time] : calls) append(call, time);
}

void Folding::append(std::string_view call, const Time& time) {
    Element element;
    element.hash = mix(std::hash<std::string_view>()(call));
    element.call = call;
    element.times.add(time);
    // A loop at the end may grow, so nothing is folded that ends with it until another call follows.
    while (!elements_.empty() && elements_.back().is_loop() &&
           elements_.back().body.front().hash != element.hash && fold()) {
    }
    push(std::move(element));
    fold();
}

bool Folding::fold() {
    return continue_loop() || begin_loop();
}

std::uint64_t Folding::hash_of(std::size_t begin, std::size_t end) const {
    return prefixes_[end] - prefixes_[begin] * powers_[end - begin];
}

bool Folding::are_equal(std::size_t begin, std::size_t other, std::size_t length) const {
    const auto at = [this](std::size_t i) { return elements_.begin() + static_cast<std::ptrdiff_t>(i); };
    return hash_of(begin, begin + length) == hash_of(other, other + length) &&
           std::equal(at(begin), at(begin + length), at(other));
}

// If the last elements are one more pass of the loop before them.
bool Folding::continue_loop() {
    const auto head = last_loop_.find(elements_.back().hash);
    if (head == last_loop_.end()) return false;
    std::size_t at = head->second;
    for (int tries = 0; at != none && tries < max_tries; ++tries, at = loop_before_[at]) {
        const std::vector<Element>& body = elements_[at].body;
        const std::size_t first = at + 1;
        if (first + body.size() != elements_.size() ||
            mix(hash_of(first, elements_.size())) != elements_[at].hash ||
            !std::equal(body.begin(), body.end(), elements_.begin() + static_cast<std::ptrdiff_t>(first))) {
            continue;
        }
        for (std::size_t i = body.size(); i-- > 0;) {
            const Element pass = pop();
            elements_[at].body[i].add(pass);
        }
        elements_[at].add_pass();
        return true;
    }
    return false;
}

// If the last elements are equal to as many before them.
bool Folding::begin_loop() {
    const std::size_t end = elements_.size();
    std::size_t at = element_before_.back();
    for (int tries = 0; at != none && tries < max_tries; ++tries, at = element_before_[at]) {
        const std::size_t length = end - 1 - at;
        if (length > window_ || 2 * length > end) return false;
        if (!are_equal(end - 2 * length, end - length, length)) continue;
        Element loop;
        loop.passes.add(2);
        loop.hash = mix(hash_of(end - length, end));
        loop.weight = 0;
        for (std::size_t i = end - length; i < end; ++i) loop.weight += elements_[i].weight;
        if (loop.weight > 4 * window_) return false;
        std::vector<Element> second;
        for (std::size_t i = 0; i < length; ++i) second.push_back(pop());
        for (std::size_t i = 0; i < length; ++i) loop.body.push_back(pop());
        std::reverse(loop.body.begin(), loop.body.end());
        for (std::size_t i = 0; i < length; ++i) loop.body[i].add(second[length - 1 - i]);
        push(std::move(loop));
        return true;
    }
    return false;
}

void Folding::push(Element element) {
    const std::size_t at = elements_.size();
    const auto [last, first] = last_element_.try_emplace(element.hash, none);
    element_before_.push_back(std::exchange(last->second, at));
    loop_before_.push_back(none);
    if (element.is_loop()) {
        const auto [loop, none_before] = last_loop_.try_emplace(element.body.back().hash, none);
        loop_before_.back() = std::exchange(loop->second, at);
    }
    prefixes_.push_back(prefixes_.back() * base + element.hash);
    if (powers_.size() < prefixes_.size()) powers_.push_back(powers_.back() * base);
    weight_ += element.weight;
    elements_.push_back(std::move(element));
}

Folding::Element Folding::pop() {
    Element element = std::move(elements_.back());
    elements_.pop_back();
    const auto step_back = [](Heads& heads, std::uint64_t hash, std::vector<std::size_t>& before) {
        if (before.back() == none)
            heads.erase(hash);
        else
            heads[hash] = before.back();
    };
    step_back(last_element_, element.hash, element_before_);
    if (element.is_loop()) step_back(last_loop_, element.body.back().hash, loop_before_);
    element_before_.pop_back();
    loop_before_.pop_back();
    prefixes_.pop_back();
    weight_ -= element.weight;
    return element;
}

std::vector<Folding::Element> Folding::take_oldest() {
    settle();
    std::vector<Element> all = std::move(elements_);
    std::size_t taken = 0;
    std::size_t weight = 0;
    while (taken < all.size() && (2 * taken < all.size() || 2 * weight < weight_))
        weight += all[taken++].weight;
    *this = Folding(window_);
    for (std::size_t i = taken; i < all.size(); ++i) push(std::move(all[i]));
    all.resize(taken);
    return all;
}

}  // namespace lapwing::recording
