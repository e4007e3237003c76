// In place of the product's devx.cpp: each rank that opens a card of its host gets the double of one.
#include "engines/mlx5/devx.hpp"

#include "base/error.hpp"
#include "c/mlx5/devx.hpp"
#include "engines/mlx5/doubles/device.hpp"

namespace lapwing {
namespace testing_c {

std::atomic<int> cards_left{max_cards};

}  // namespace testing_c

namespace mlx5 {
namespace {

// Processes that a test forks share it.
const std::shared_ptr<mlx5_double::Network> network = mlx5_double::Network::of_process(testing_c::max_cards);

}  // namespace

Verdict devx_available() {
    return Verdict::yes();
}

std::unique_ptr<Device> open_devx(const std::string&) {
    if (testing_c::cards_left.fetch_sub(1) <= 0)
        throw Error(ErrorCode::unsupported, "the double of the host has no card left");
    mlx5_double::Rules rules;
    rules.delay = 0;  // how unkind a card can be is for the engine's own tests
    rules.keep_alive = std::chrono::milliseconds(50);
    return std::make_unique<mlx5_double::DoubleDevice>(network, rules);
}

}  // namespace mlx5
}  // namespace lapwing
