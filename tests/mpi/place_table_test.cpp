#include "mpi/native/place_table.hpp"
#include "support/unit.hpp"

namespace lapwing {
namespace {

struct Score {
    int value = 1;
};

TEST(PlaceTable, PlacesThatCollideStayApart) {
    PlaceTable<Score> table;
    // The first slot is the same.
    std::vector<std::uintptr_t> keys;
    for (std::uintptr_t key = 1; keys.size() < 10; ++key)
        if ((key * 0x9E3779B97F4A7C15U) >> 55 == 7) keys.push_back(key);
    std::set<Score*> entries;
    for (int i = 0; i < 8; ++i) {
        table.find(keys[i]).value = i;
        entries.insert(&table.find(keys[i]));
    }
    EXPECT_EQ(entries.size(), 8U);
    for (int i = 0; i < 8; ++i) EXPECT_EQ(table.find(keys[i]).value, i);
    // More of them share one.
    EXPECT_EQ(&table.find(keys[8]), &table.find(keys[0]));
    EXPECT_EQ(&table.find(keys[9]), &table.find(keys[0]));
}

TEST(PlaceTable, HoldsThePlacesOfAProgram) {
    PlaceTable<Score> table;
    std::set<Score*> entries;
    for (std::uintptr_t i = 0; i < 200; ++i) entries.insert(&table.find(0x555555554000 + 13 * i));
    EXPECT_GE(entries.size(), 195U);
}

}  // namespace
}  // namespace lapwing
