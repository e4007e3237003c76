// The certificates: that they prove their algorithms for every number of ranks, that they describe what the algorithms
// build, and that wrong ones are refused.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "base/error.hpp"
#include "proofs/conformance.hpp"
#include "proofs/lemmas.hpp"
#include "proofs/solver.hpp"
#include "task/sample.hpp"
#include "task/text.hpp"

namespace lapwing::proofs {
namespace {

const std::filesystem::path folder = LAPWING_CERTIFICATES;

std::string read(const std::filesystem::path& file) {
    std::ifstream stream(file);
    std::ostringstream text;
    text << stream.rdbuf();
    return text.str();
}

std::vector<std::filesystem::path> certificates() {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        if (entry.path().extension() == ".proof") files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    return files;
}

// For the name of a test.
std::string name_of(const testing::TestParamInfo<std::filesystem::path>& info) {
    std::string name = info.param.stem().string();
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
}

TEST(Lemmas, AreProven) {
    for (const Obligation& lemma : lemmas()) EXPECT_EQ(counter_example(lemma).value_or("holds"), "holds") << lemma.what;
}

class Certificates : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(Certificates, AreProven) {
    const Certificate certificate = parse_certificate(read(GetParam()));
    const std::vector<Obligation> obligations = obligations_of(certificate);
    EXPECT_GT(obligations.size(), 10U);
    for (const Obligation& obligation : obligations) {
        const auto t0 = clock();
        const auto wrong = counter_example(obligation);
        if (std::getenv("LAPWING_SHOW") && clock() - t0 > 50000) fmt::print("{:.2f} {}\n", double(clock() - t0) / 1e6, obligation.what);
        EXPECT_FALSE(wrong.has_value()) << obligation.rule << ": " << obligation.what << ": " << *wrong << "\n"
                                        << (std::getenv("LAPWING_SHOW") ? to_smt(obligation, Sort::bits) : "");
    }
}

void expect_same_lists(Instantiation& instance, const Problem& problem, const Choice& choice) {
    for (int rank = 0; rank < problem.ranks; ++rank) {
        const List made = instance.list(rank);
        const List built = build(problem, rank, choice);
        ASSERT_EQ(made, built) << print(problem) << ":\n" << print(made) << print(built);
    }
}

TEST_P(Certificates, DescribeWhatIsBuilt) {
    const Certificate certificate = parse_certificate(read(GetParam()));
    Instantiation instance(certificate);
    std::size_t compared = 0;
    for (const auto& [collective, name] : certificate.algorithms) {
        const std::optional<Collective> found = find_collective(collective);
        ASSERT_TRUE(found) << collective;
        const Choice choice = parse_choice(*found, name);
        for (int ranks = 1; ranks <= 128; ++ranks) {
            const std::vector<Problem> problems = sample_problems(*found, ranks, ranks % 2 == 0 ? 24 : 1000);
            for (std::size_t i = 0; i < problems.size(); ++i) {
                const Problem& problem = problems[i];
                if (ranks > 16 && (i + static_cast<std::size_t>(ranks)) % problems.size() != 0) continue;
                instance.set(problem, 1);
                const bool applies = static_cast<bool>(choice.algorithm->applies(problem, choice.parameters));
                if (!instance.covers()) continue;
                ASSERT_TRUE(applies) << print(problem);
                expect_same_lists(instance, problem, choice);
                if (HasFatalFailure()) return;
                for (int rank = 0; rank < ranks && ranks <= 16; ++rank)
                    ASSERT_EQ(instance.difference_in_meaning(rank), "") << print(problem);
                ++compared;
            }
        }
    }
    EXPECT_GT(compared, 10U);
}

INSTANTIATE_TEST_SUITE_P(All, Certificates, testing::ValuesIn(certificates()), name_of);

}  // namespace
}  // namespace lapwing::proofs
