// The limit of an overlap: plain sockets beside fixed work that takes longer than they do.
#pragma once

#include "program/measure/row.hpp"
#include "program/mpi/traffic.hpp"

namespace lapwing::bench {

class LimitLine : public Line {
  public:
    LimitLine(Bench& bench, Traffic traffic) : bench_(bench), traffic_(std::move(traffic)) {}

    void warm_up() override;
    std::vector<std::function<void()>> phases() override;

  protected:
    nlohmann::json describe() const override;

  private:
    struct Sample {
        double total = 0;     // the work's time beside the exchange
        double exchange = 0;  // from its start to its end
        int late = 0;         // iterations in which the exchange ended after the work
    };
    double alone();
    Sample exchange();

    Bench& bench_;
    Traffic traffic_;
    int iterations_ = 1;
    std::uint64_t operations_ = 1;
};

}  // namespace lapwing::bench
