// Whether a card does what the engine needs: documents leave some of it open, and the capability bits do not
// tell.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "engines/mlx5/device.hpp"
#include "engines/mlx5/work_queues.hpp"

namespace lapwing::mlx5 {

// Queue pairs that are connected with themselves: a first write, and a second one of what that wrote, which a
// WAIT holds back until the first is complete, and with a management queue its enable, too. Gives back why
// the card is unfit; empty: it did. `meanwhile` is called while nothing happens.
std::string probe(Device& device, const WorkVariant& variant,
                  std::chrono::milliseconds limit = std::chrono::milliseconds(1000),
                  const std::function<void()>& meanwhile = {});

// The first variant that the card passes; waits in the peers' own queues are tried first, since nothing needs
// to be enabled there. Where one is `wanted`, only that. Throws Error (unsupported) with what went wrong in
// each.
const WorkVariant* fit_variant(Device& device, const WorkVariant* wanted = nullptr);

// The card that runs lists, and which work queues it takes.
struct OpenedCard {
    std::unique_ptr<Device> device;
    const WorkVariant* variant = nullptr;
};

// The first of this host, if it passes. `wanted` as above. Throws Error (unsupported, system).
OpenedCard open_card(const WorkVariant* wanted);

}  // namespace lapwing::mlx5
