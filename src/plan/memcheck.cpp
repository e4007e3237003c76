#include "plan/memcheck.hpp"

#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>

#include <utility>
#endif

namespace lapwing::memcheck {

#if __has_include(<valgrind/memcheck.h>)
namespace {

class MarkingPrepared final : public Prepared {
  public:
    MarkingPrepared(std::unique_ptr<Prepared> prepared, std::vector<Span> written)
        : prepared_(std::move(prepared)), written_(std::move(written)) {}

    // Before the run: what this process copies into out itself is initialised if its source is.
    Operation* start(const Buffers& buffers, std::uint32_t channel) override {
        for (const Span& span : written_)
            static_cast<void>(VALGRIND_MAKE_MEM_DEFINED(buffers.out + span.offset, span.length));
        return prepared_->start(buffers, channel);
    }
    bool test(Operation* operation) override { return prepared_->test(operation); }
    bool progress(Operation* operation) override { return prepared_->progress(operation); }
    int prepare_to_sleep(Operation* operation) override { return prepared_->prepare_to_sleep(operation); }
    std::uint32_t offer(std::uint32_t channel) override { return prepared_->offer(channel); }
    std::uint32_t accept(std::uint32_t channel, int lane) override {
        return prepared_->accept(channel, lane);
    }
    void release_channel(std::uint32_t channel) override { prepared_->release_channel(channel); }

  private:
    const std::unique_ptr<Prepared> prepared_;
    const std::vector<Span> written_;
};

}  // namespace
#endif

std::vector<Span> written_by(const List& list) {
    std::vector<Span> written;
#if __has_include(<valgrind/memcheck.h>)
    if (RUNNING_ON_VALGRIND == 0) return written;
    for (const Task& task : list.tasks) {
        if (task.target.space == Space::out && task.target.length > 0) written.push_back(task.target);
    }
#endif
    static_cast<void>(list);
    return written;
}

std::unique_ptr<Prepared> marking(std::unique_ptr<Prepared> prepared, std::vector<Span> written) {
#if __has_include(<valgrind/memcheck.h>)
    if (!written.empty()) return std::make_unique<MarkingPrepared>(std::move(prepared), std::move(written));
#endif
    static_cast<void>(written);
    return prepared;
}

}  // namespace lapwing::memcheck
