// Tries whether a card does what the engine needs: neither documents nor capability bits say all of it.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "engines/mlx5/device.hpp"
#include "engines/mlx5/work_queues.hpp"

namespace lapwing::mlx5 {

// Uses queue pairs that are connected to themselves: a first write, and a second one of what the first wrote.
// A WAIT holds the second back until the first is complete; with a management queue, its enable does so, too.
// Returns why the card is unfit, or an empty string. Calls `meanwhile` while it waits.
std::string probe(Device& device, const WorkVariant& variant,
                  std::chrono::milliseconds limit = std::chrono::milliseconds(1000),
                  const std::function<void()>& meanwhile = {});

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
