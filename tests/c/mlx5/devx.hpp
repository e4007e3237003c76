#pragma once

#include <atomic>

namespace lapwing::testing_c {

constexpr int max_cards = 64;
// How many can still be opened; in each process.
extern std::atomic<int> cards_left;

}  // namespace lapwing::testing_c
