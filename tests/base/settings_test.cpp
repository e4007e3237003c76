#include "base/settings.hpp"

#include "base/error.hpp"
#include "support/errors.hpp"
#include "support/unit.hpp"

namespace lapwing {
namespace {

std::string message_of(const std::vector<const char*>& environment) {
    return error_of([&] { read_settings(environment.data()); }, ErrorCode::invalid_argument);
}

TEST(Settings, AnEmptyEnvironmentMeansTheDefaults) {
    const char* const environment[] = {nullptr};
    const Settings settings = read_settings(environment);
    EXPECT_EQ(settings.engine, "auto");
    EXPECT_EQ(settings.algorithm, "");
    EXPECT_EQ(settings.report, "none");
    EXPECT_EQ(read_settings(nullptr).engine, "auto");
}

TEST(Settings, ReadsOnlyLapwingsVariables) {
    const char* const environment[] = {"PATH=/bin",          "LAPWING_ENGINE=host",
                                       "XLAPWING_ENGINE=no", "LAPWING_ALGORITHM=ialltoall=pairwise:window=6",
                                       "LAPWING_REPORT=",    nullptr};
    const Settings settings = read_settings(environment);
    EXPECT_EQ(settings.engine, "host");
    EXPECT_EQ(settings.algorithm, "ialltoall=pairwise:window=6");
    EXPECT_EQ(settings.report, "none");  // an empty value is none
}

TEST(Settings, AnUnknownVariableNamesTheNearest) {
    EXPECT_EQ(message_of({"LAPWING_ENGIEN=host", nullptr}),
              "unknown variable LAPWING_ENGIEN; did you mean 'LAPWING_ENGINE'?");
    EXPECT_THAT(message_of({"LAPWING_X", nullptr}),
                testing::HasSubstr("valid: LAPWING_ENGINE, LAPWING_NETWORK"));
}

TEST(Settings, AFormerNameNamesThePresentOne) {
    EXPECT_EQ(message_of({"LAPWING_HELPER=auto", nullptr}),
              "LAPWING_HELPER is now called LAPWING_PROGRESS_THREAD");
}

TEST(Settings, TheTableSaysWhatMustBeEqualOnAllRanks) {
    Settings mine;
    const SettingHashes usual = shared_setting_hashes(mine);
    mine.timeout = "3";
    mine.tcp_buffer = "1Ki";
    EXPECT_EQ(shared_setting_hashes(mine), usual);
    mine.tuning = "a";
    const SettingHashes with_file = shared_setting_hashes(mine);
    EXPECT_NE(with_file, usual);
    mine.tuning = "b";  // the files themselves are compared
    EXPECT_EQ(shared_setting_hashes(mine), with_file);
    mine.engine = "host";
    EXPECT_NE(shared_setting_hashes(mine), with_file);
}

TEST(Switch, OnOffAndNothingElse) {
    for (const char* yes : {"1", "true", "yes", "on"}) EXPECT_TRUE(parse_switch("X", yes));
    for (const char* no : {"", "0", "false", "no", "off"}) EXPECT_FALSE(parse_switch("X", no));
    EXPECT_THROW(parse_switch("X", "perhaps"), Error);
}

}  // namespace
}  // namespace lapwing
