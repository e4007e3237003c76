// Quanta of work with a test after each until the collective is complete; then the same quanta alone.
#pragma once

#include "program/measure/row.hpp"

namespace lapwing::bench {

class PolledLine : public SubjectLine {
  public:
    using SubjectLine::SubjectLine;

    void warm_up() override;
    std::vector<std::function<void()>> phases() override;

  protected:
    nlohmann::json describe() const override;

  private:
    void measure();

    Block quantum_;
};

}  // namespace lapwing::bench
