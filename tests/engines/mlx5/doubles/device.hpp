// The emulator of a card, as a Device of the engine.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "engines/mlx5/device.hpp"
#include "engines/mlx5/doubles/card.hpp"

namespace lapwing::mlx5_double {

// The thread that runs the hardware of all cards of a network in this process.
class Driver {
  public:
    static std::shared_ptr<Driver> of(const std::shared_ptr<Network>& network);
    explicit Driver(std::shared_ptr<Network> network);
    ~Driver();
    Driver(const Driver&) = delete;
    Driver& operator=(const Driver&) = delete;

    void add(Card* card);
    void remove(Card* card);
    // Returns when the cards have nothing left to do, or after so many rounds that they only repeat
    // themselves.
    void settle();

  private:
    void run();
    std::shared_ptr<Network> network_;
    std::mutex lock_;
    std::set<Card*> cards_;
    std::atomic<bool> ends_ = false;
    std::atomic<std::uint64_t> begun_ = 0;    // rounds
    std::atomic<std::uint64_t> settled_ = 0;  // the last round after which nothing was left to do
    std::thread thread_;
};

// Who advances the card.
enum class Drive {
    thread,  // the network's driver
    hand,    // its owner, by card().round()
};

class DoubleDevice : public mlx5::Device {
  public:
    DoubleDevice(std::shared_ptr<Network> network, const Rules& rules, Drive drive = Drive::thread);
    ~DoubleDevice() override;

    Card& card() { return *card_; }

    const char* name() const override { return name_.c_str(); }
    mlx5::Capabilities capabilities() const override;
    std::chrono::milliseconds keep_alive() const override { return card_->rules().keep_alive; }
    mlx5::CompletionQueue create_completion_queue(const mlx5::CompletionQueueOptions& options) override;
    mlx5::QueuePair create_queue_pair(const mlx5::QueuePairOptions& options) override;
    mlx5::Address address(const mlx5::QueuePair& pair) const override;
    void connect(const mlx5::QueuePair& pair, const mlx5::Address& peer) override;
    void destroy(const mlx5::QueuePair& pair) override;
    void destroy(const mlx5::CompletionQueue& queue) override;
    mlx5::MemoryKey register_memory(void* memory, std::size_t bytes) override;
    void deregister(const mlx5::MemoryKey& key) override;
    void arm(const mlx5::CompletionQueue& queue, std::uint32_t consumed) override;
    int event_descriptor() const override { return event_; }
    void clear_events() override;
    void rest(std::chrono::milliseconds time) override;

  private:
    struct Rings;
    std::unique_ptr<Card> card_;
    std::shared_ptr<Driver> driver_;
    std::string name_;
    int event_;
    // By number: a queue pair may have that of a completion queue.
    std::map<std::uint32_t, std::unique_ptr<Rings>> pair_rings_;
    std::map<std::uint32_t, std::unique_ptr<Rings>> completion_rings_;
};

}  // namespace lapwing::mlx5_double
