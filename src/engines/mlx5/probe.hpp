// Tries whether a card does what the engine needs: neither documents nor capability bits say all of it.
#pragma once

#include <memory>
#include <string>

#include "engines/mlx5/device.hpp"
#include "engines/mlx5/work_queues.hpp"

namespace lapwing::mlx5 {

// Asks the question of conformance.hpp that the variant depends on: whether a WAIT, and with a management
// queue the enable behind it, holds a request back. Returns why the card is unfit, or an empty string.
std::string probe(Device& device, const WorkVariant& variant);

// Returns the first variant that the card passes. Waits in the peers' own queues are tried first, because no
// request needs to be enabled there. Tries only `wanted`, if it is not null. Throws Error (unsupported) with
// the reason for each.
const WorkVariant* fit_variant(Device& device, const WorkVariant* wanted = nullptr);

// The card that runs lists, and which work queues it takes.
struct OpenedCard {
    std::unique_ptr<Device> device;
    const WorkVariant* variant = nullptr;
};

// Opens the first card of this host, if it passes. `wanted` as above. Throws Error (unsupported, system).
OpenedCard open_card(const WorkVariant* wanted);

}  // namespace lapwing::mlx5
