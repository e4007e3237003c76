// One collective right after the other: what one adds to a program with many in a row.
//
// There is no barrier between two collectives, so the root of a broadcast may be several ahead of the others.
// The time is that of the slowest rank for all, divided by their number.
#pragma once

#include "program/measure/row.hpp"

namespace lapwing::bench {

class BackToBack : public Line {
  public:
    // `quantity` is the name of the time in a sample. `prepare`, on all ranks, comes before the first one.
    BackToBack(Bench& bench, const Caller& caller, std::shared_ptr<Exchanges> exchange, bool blocking,
               const char* quantity, std::function<void()> prepare = {});

    void warm_up() override;
    std::vector<std::function<void()>> phases() override;

  protected:
    nlohmann::json describe() const override;

  private:
    double run(int count);
    void fit_iterations();

    Bench& bench_;
    const Caller& caller_;
    std::shared_ptr<Exchanges> exchanges_;
    bool blocking_;
    const char* quantity_;
    std::function<void()> prepare_;
    int iterations_ = 1;
    std::string used_;
};

}  // namespace lapwing::bench
