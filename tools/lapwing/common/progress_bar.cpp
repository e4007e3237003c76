#include "lapwing/common/progress_bar.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "base/messages.hpp"

namespace lapwing::tool {
namespace {

constexpr int bar_width = 40;
constexpr std::chrono::milliseconds between_drawings{100};

}  // namespace

ProgressBar::ProgressBar(double total)
    : total_(std::max(total, 1e-9)), visible_(isatty(STDERR_FILENO) != 0) {}

ProgressBar::~ProgressBar() {
    if (visible_) print_message("\r\033[K");
}

void ProgressBar::advance(double work) {
    const std::lock_guard lock(mutex_);
    done_ += work;
    if (!visible_ || Clock::now() - drawn_ < between_drawings) return;
    drawn_ = Clock::now();
    draw();
}

void ProgressBar::draw() const {
    const double share = std::clamp(done_ / total_, 0.0, 1.0);
    const int filled = static_cast<int>(share * bar_width);
    const double elapsed = std::chrono::duration<double>(Clock::now() - started_).count();
    print_message("\r[{}{}] {:3.0f} %", std::string(static_cast<std::size_t>(filled), '#'),
                  std::string(static_cast<std::size_t>(bar_width - filled), '.'), share * 100);
    // Nothing is known before anything is done.
    if (share > 0) print_message(", {:.0f} s left", std::ceil(elapsed * (1 - share) / share));
    print_message("\033[K");
}

}  // namespace lapwing::tool
