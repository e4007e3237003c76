#include "plan/list_files.hpp"

#include "engines/host/engine.hpp"
#include "plan/planner.hpp"
#include "plan/tuning.hpp"
#include "support/errors.hpp"
#include "support/process_link.hpp"
#include "support/temporary_folder.hpp"
#include "support/unit.hpp"

namespace lapwing {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// Rank 1 sends its block to rank 0, and the other way round.
constexpr const char* allgather_of_2 =
    "problem allgather ranks 2 chunks 1\n"
    "list 0 in 1 out 2 scratch 0\n"
    "  recv 1 out[1+1]\n"
    "  copy out[0+1] in[0+1]\n"
    "  send 1 in[0+1]\n"
    "  wait 1 1\n"
    "end\n"
    "list 1 in 1 out 2 scratch 0\n"
    "  recv 0 out[0+1]\n"
    "  copy out[1+1] in[0+1]\n"
    "  send 0 in[0+1]\n"
    "  wait 0 1\n"
    "end\n";

class ListFiles : public testing::Test {
  protected:
    std::string write(const std::string& text) {
        const std::string path = folder_.path() / "own.lists";
        std::ofstream(path) << text;
        return path;
    }
    std::string message_of(const std::string& algorithm, Collective collective = Collective::allgather) {
        return error_of([&] { read_choice(collective, algorithm); });
    }
    const Problem problem_{.collective = Collective::allgather, .ranks = 2, .bytes = 24};

  private:
    testing_support::TemporaryFolder folder_;
};

TEST_F(ListFiles, AreAlgorithms) {
    const std::string path = write(allgather_of_2);
    const RequestedAlgorithms requested =
        RequestedAlgorithms::parse("iallgather=file:" + path + ",ibcast=flat");
    const Selection selection = select(problem_, requested);
    EXPECT_EQ(print(selection.choice), "file:" + path);
    EXPECT_EQ(selection.by, Selection::By::request);
    EXPECT_EQ(selection.choice, read_choice(Collective::allgather, "file:" + path));
    std::string why;
    const Selection of_three =
        select({.collective = Collective::allgather, .ranks = 3, .bytes = 24}, requested, {}, &why);
    EXPECT_NE(of_three.by, Selection::By::request);
    EXPECT_THAT(why, HasSubstr("declined: the file has no lists for this number of ranks; "));
    EXPECT_EQ(of_three.refused, "");
}

TEST_F(ListFiles, AreReadAgainWhenTheyHaveChanged) {
    const std::string path = write(allgather_of_2);
    const std::uint64_t before = read_list_file(path).front()->fingerprint();
    write(std::string(allgather_of_2) + "# the same lists\n");
    EXPECT_NE(read_list_file(path).front()->fingerprint(), before);
}

TEST_F(ListFiles, ErrorsNameTheFileAndThePlace) {
    EXPECT_EQ(message_of("file:/nowhere/own.lists"), "the list file '/nowhere/own.lists' cannot be read");
    const std::string path = write(allgather_of_2);
    EXPECT_EQ(message_of("file:" + path, Collective::alltoall),
              path + " has no lists of alltoall; it has those of allgather");
    EXPECT_THAT(message_of("file:" + path, Collective::alltoallv), HasSubstr("blocks of one length"));
    write(std::string(allgather_of_2) + "end\n");
    EXPECT_EQ(message_of("file:" + path), path + ":14:1: after the last list: 'end'");
}

TEST_F(ListFiles, WrongListsAreToldOfAndReplaced) {
    std::string text = allgather_of_2;
    text.replace(text.find("in[0+1]"), 7, "in[0+1]\n  copy out[0+1] in[0+1]");
    text.replace(text.find("  copy out[1+1] in[0+1]\n"), 24, "");
    const std::string path = write(text);
    std::vector<std::string> warnings;
    PlanOptions options;
    options.requested = RequestedAlgorithms::parse("iallgather=file:" + path);
    options.warn = [&](const std::string& line) { warnings.push_back(line); };
    const auto links = process_links(2, true);
    Planner planner(0, {{&host_engine(), [&] { return open_host_group(*links[0]); }}}, options);
    EXPECT_EQ(planner.plan(problem_).choice.algorithm->lists, nullptr);
    ASSERT_EQ(warnings.size(), 1U);
    EXPECT_THAT(warnings[0], StartsWith(path + ":9: provenance: rank 1: "));
    EXPECT_THAT(warnings[0], HasSubstr(" is used for allgather instead"));
}

TEST_F(ListFiles, MayBeNamedByATuningFile) {
    const std::string path = write(allgather_of_2);
    const Tuning tuning = Tuning::parse(
        R"({"lapwing_tuning": 1, "tables": [{"engine": "host", "hosts": "one", "ranks": [2, 2], "choices":
            {"allgather": [{"from": 0, "take": "file:)" +
            path + R"("}]}}]})",
        "my.json");
    EXPECT_EQ(tuning.list_files(), read_list_file(path));
    const Guidance guidance{&tuning, {"host", false}};
    EXPECT_EQ(print(select(problem_, {}, guidance).choice), "file:" + path);
}

}  // namespace
}  // namespace lapwing
