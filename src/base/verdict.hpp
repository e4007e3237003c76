// Yes, or no with a reason.
#pragma once

namespace lapwing {

class Verdict {
  public:
    static constexpr Verdict yes() { return Verdict(nullptr); }
    // `reason` must outlive the verdict. It completes "no: ...".
    static constexpr Verdict no(const char* reason) { return Verdict(reason); }

    constexpr explicit operator bool() const { return reason_ == nullptr; }
    // Null if the answer is yes.
    constexpr const char* reason() const { return reason_; }

  private:
    constexpr explicit Verdict(const char* reason) : reason_(reason) {}
    const char* reason_;
};

}  // namespace lapwing
