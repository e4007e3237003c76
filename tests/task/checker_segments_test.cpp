#include "support/unit.hpp"
#include "task/checker/segments.hpp"

namespace lapwing::checker {
namespace {

TEST(Segments, AgreeWithOneValuePerByteAndJoinNeighbours) {
    constexpr std::size_t size = 40;
    std::mt19937 random(11);
    for (int round = 0; round < 200; ++round) {
        Segments<int> segments;
        std::array<int, size> bytes{};  // 0: no value
        for (int change = 0; change < 40; ++change) {
            std::size_t offset = random() % (size + 1);
            std::size_t end = random() % (size + 1);
            if (offset > end) std::swap(offset, end);
            const int value = static_cast<int>(random() % 4);
            if (value == 0)
                segments.erase(offset, end);
            else
                segments.assign(offset, end, value);
            for (std::size_t i = offset; i < end; ++i) bytes[i] = value;

            const std::size_t from = random() % size;
            const std::size_t to = from + 1 + random() % (size - from);
            std::array<int, size> seen{};
            std::size_t last_end = from;
            int last_value = 0;
            segments.visit(from, to, [&](const Segments<int>::Segment& segment) {
                EXPECT_LT(segment.offset, segment.end);
                EXPECT_FALSE(segment.offset == last_end && segment.value == last_value) << "not joined";
                last_end = segment.end;
                last_value = segment.value;
                for (std::size_t i = segment.offset; i < segment.end; ++i) seen[i] = segment.value;
                return true;
            });
            std::array<int, size> wanted{};
            std::copy(bytes.begin() + from, bytes.begin() + to, wanted.begin() + from);
            ASSERT_EQ(seen, wanted);
        }
    }
}

}  // namespace
}  // namespace lapwing::checker
