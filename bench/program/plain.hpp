// The same bytes by plain blocking send() and recv(): the least that the network costs a program.
//
// Each peer has a thread that sends and one that receives, made in advance and asleep in between, on the
// processors of the rank. The rank's own thread does fixed work meanwhile; by how much that takes longer is
// the processor time that the system needs to move the bytes.
#pragma once

#include <semaphore.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "program/exchange.hpp"
#include "program/mesh.hpp"

namespace lapwing::bench {

class Plain {
  public:
    // Uses the mesh's data connections for as long as it lives. `max_bytes` is the longest message.
    Plain(const Mesh& mesh, std::uint64_t max_bytes);
    ~Plain();
    Plain(const Plain&) = delete;
    Plain& operator=(const Plain&) = delete;

    // Starts one exchange; join() before the next, on all ranks.
    void start(const Traffic& traffic);
    // Waits for its end; gives the moment (clock.hpp) at which the last byte had been sent and received.
    // Throws Error (link) when a connection broke.
    double join();

  private:
    struct Peer {
        int rank = 0;
        int descriptor = -1;
        std::vector<unsigned char> sent;
        std::vector<unsigned char> received;
        std::uint64_t to_send = 0;
        sem_t may_send{};
        std::thread sender;
        std::thread receiver;
    };

    void send_for(Peer& peer);
    void receive_for(Peer& peer);
    void go_on();  // with the lock
    void finish_one(int receive_of);
    void fail(const std::string& what);

    std::vector<std::unique_ptr<Peer>> peers_;  // by rank; null for the own
    std::atomic<bool> ending_{false};
    sem_t finished_{};
    std::mutex mutex_;  // guards what follows
    bool started_ = false;
    Traffic traffic_;
    std::vector<bool> arrived_;  // by peer, of this exchange
    std::size_t next_send_ = 0;
    std::size_t ended_ = 0;  // sends and receives
    double end_ = 0;
    std::string failure_;
};

}  // namespace lapwing::bench
