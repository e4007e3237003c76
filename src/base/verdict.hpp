// A yes, or a no that carries its reason.
#pragma once

namespace lapwing {

class Verdict {
  public:
    static constexpr Verdict yes() { return Verdict(nullptr); }
    // `reason` is a string literal or outlives the verdict; it completes the sentence "no: ...".
    static constexpr Verdict no(const char* reason) { return Verdict(reason); }

    constexpr explicit operator bool() const { return reason_ == nullptr; }
    // Why not; null when the answer is yes.
    constexpr const char* reason() const { return reason_; }

  private:
    constexpr explicit Verdict(const char* reason) : reason_(reason) {}
    const char* reason_;
};

}  // namespace lapwing
