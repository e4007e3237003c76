// The certificates: that they prove their algorithms for every number of ranks, that they describe what the
// algorithms build, and that wrong ones are refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <thread>

#include <fmt/format.h>

#include "base/text_file.hpp"
#include "proofs/conformance.hpp"
#include "proofs/obligations.hpp"
#include "proven/proven.hpp"
#include "task/sample.hpp"
#include "task/text.hpp"

namespace lapwing::proofs {
namespace {

const std::filesystem::path folder = LAPWING_CERTIFICATES;

std::string read(const std::filesystem::path& file) {
    return read_text_file(file, "certificate");
}

// A certificate of a file, COLLECTIVE.proof, with the name COLLECTIVE-ALGORITHM.
struct Source {
    std::string name;
    std::string text;
};

std::vector<Source> certificates() {
    std::vector<Source> all;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        if (entry.path().extension() != ".proof") continue;
        const std::string text = read(entry.path());
        const std::string_view start = "\nproof ";
        for (std::size_t at = text.find(start); at != std::string::npos;) {
            const std::size_t next = text.find(start, at + 1);
            const std::string one = text.substr(at, next - at);
            const std::string algorithm = parse_certificate(one).algorithms.front().second;
            all.push_back({entry.path().stem().string() + "-" + algorithm, one});
            at = next;
        }
    }
    std::ranges::sort(all, {}, &Source::name);
    return all;
}

// For the name of a test.
std::string name_of(const testing::TestParamInfo<Source>& info) {
    std::string name = info.param.name;
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
}

TEST(Lemmas, AreProven) {
    for (const Obligation& lemma : lemmas())
        EXPECT_EQ(counter_example(lemma).value_or("holds"), "holds") << lemma.what;
}

class EveryCertificate : public testing::TestWithParam<Source> {};

TEST_P(EveryCertificate, AreProven) {
    const Certificate certificate = parse_certificate(GetParam().text);
    const std::vector<Obligation> obligations = obligations_of(certificate);
    EXPECT_GT(obligations.size(), 10U);
    std::atomic<std::size_t> next = 0;
    const auto prove = [&] {
        for (std::size_t i = next++; i < obligations.size(); i = next++) {
            const auto wrong = counter_example(obligations[i]);
            EXPECT_FALSE(wrong.has_value())
                << obligations[i].rule << ": " << obligations[i].what << ": " << *wrong;
        }
    };
    std::vector<std::jthread> threads(std::max(1U, std::thread::hardware_concurrency()) - 1);
    for (std::jthread& thread : threads) thread = std::jthread(prove);
    prove();
}

// The list with successive waits for one peer as one task: a certificate has a wait for each receive.
List with_joined_waits(List list) {
    std::vector<Task> tasks;
    for (const Task& task : list.tasks) {
        const bool again = task.kind == Kind::wait && !tasks.empty() && tasks.back().kind == Kind::wait &&
                           tasks.back().peer == task.peer;
        if (again)
            tasks.back().count += task.count;
        else
            tasks.push_back(task);
    }
    list.tasks = std::move(tasks);
    return list;
}

// How the lists of some ranks differ from what is built; empty if they do not.
std::string difference(Instantiation& instance, const Problem& problem, const Choice& choice, int step = 1) {
    for (int rank = 0; rank < problem.ranks; rank += step) {
        const List described = with_joined_waits(instance.list(rank));
        const List built = with_joined_waits(build(problem, rank, choice));
        if (described != built)
            return fmt::format("{} by {}: the certificate says\n{}built is\n{}", print(problem),
                               print(choice), print(described), print(built));
    }
    return {};
}

Choice choice_of(const std::pair<std::string, std::string>& algorithm) {
    return parse_choice(find_collective(algorithm.first).value(), algorithm.second);
}

// Few ranks get problems of every form, and others one, in turn.
std::vector<Problem> problems_for(Collective collective, int ranks) {
    std::vector<Problem> all = sample_problems(collective, ranks,
                                               ranks > 128      ? 8
                                               : ranks % 2 == 0 ? 24
                                                                : 1000);
    if (ranks <= 16) return all;
    return {all[static_cast<std::size_t>(ranks) / 2 % all.size()]};
}

TEST_P(EveryCertificate, DescribeWhatIsBuilt) {
    const Certificate certificate = parse_certificate(GetParam().text);
    Instantiation instance(certificate);
    for (const auto& algorithm : certificate.algorithms) {
        const Choice choice = choice_of(algorithm);
        std::size_t compared = 0;
        const auto compare = [&](const Problem& problem, int step) {
            const std::int64_t window = choice.algorithm->parameters.empty() ? 0 : choice.parameters[0];
            instance.set(problem, window);
            // Scratch memory has a limit, which is no matter of ranks.
            const bool applies = static_cast<bool>(choice.algorithm->applies(problem, choice.parameters));
            if (!instance.covers()) {
                // What an algorithm takes, and the certificate does not, is in the table of forms.
                ASSERT_TRUE(!applies || (problem.in_place && !certificate.in_place) ||
                            (problem.ordered && !certificate.ordered))
                    << print(problem);
                return;
            }
            ASSERT_TRUE(applies) << print(problem);
            ASSERT_EQ(difference(instance, problem, choice, step), "");
            ++compared;
            for (int rank = 0; rank < problem.ranks && problem.ranks <= 16; ++rank)
                ASSERT_EQ(instance.difference_in_meaning(rank), "") << print(problem);
        };
        const Collective collective = choice.algorithm->collective;
        for (int ranks = 1; ranks <= 128; ++ranks) {
            for (const Problem& problem : problems_for(collective, ranks)) {
                compare(problem, ranks <= 32 ? 1 : 1 + ranks / 12);
                if (HasFatalFailure()) return;
            }
        }
        for (const int ranks : {200, 256, 257, 1000, 1024, 2047, 3000, 4096}) {
            if (has_parts(collective)) continue;  // the parts of all ranks would take gigabytes
            compare(problems_for(collective, ranks).front(), ranks / 2 - 1);
            if (HasFatalFailure()) return;
        }
        EXPECT_GT(compared, 10U) << algorithm.first;
    }
}

INSTANTIATE_TEST_SUITE_P(All, EveryCertificate, testing::ValuesIn(certificates()), name_of);

TEST(Certificates, AreWhatTheTableSays) {
    std::set<std::string> listed;
    std::set<std::string> proven;
    for (const Algorithm* algorithm : catalogue()) {
        const auto forms = proven_for_all_ranks(algorithm->collective, algorithm->name);
        if (forms)
            listed.insert(fmt::format("LAPWING_PROVEN({}, {}, {}, {})", lapwing::name(algorithm->collective),
                                      algorithm->name, forms->in_place, forms->ordered));
    }
    for (const Source& source : certificates()) {
        const Certificate certificate = parse_certificate(source.text);
        for (const auto& [collective, name] : certificate.algorithms)
            proven.insert(fmt::format("LAPWING_PROVEN({}, {}, {}, {})", collective, name,
                                      certificate.in_place, certificate.ordered));
    }
    EXPECT_EQ(listed, proven);
}

// A certificate with one change, which makes the algorithm wrong.
struct Mutant {
    std::string certificate;
    std::string text;
    std::string change;
    std::string rule;  // that it breaks
};

// "certificate NAME", then for each mutant "- text", "+ change", "breaks RULE"; README.md.
std::vector<Mutant> mutants() {
    std::vector<Mutant> all;
    Mutant mutant;
    std::istringstream lines(read(folder / "mutants.txt"));
    for (std::string line; std::getline(lines, line);) {
        const std::string rest = line.substr(std::min(line.find(' ') + 1, line.size()));
        if (line.starts_with("certificate ")) mutant.certificate = rest;
        if (line.starts_with("- ")) mutant.text = rest;
        if (line.starts_with("+ ")) mutant.change = rest;
        if (line.starts_with("breaks ")) {
            mutant.rule = rest;
            all.push_back(mutant);
        }
    }
    return all;
}

// The first obligation of the rule that does not hold, with its counter-example; empty if all hold.
std::string broken(const Certificate& certificate, const std::string& rule) {
    for (const Obligation& obligation : obligations_of(certificate)) {
        if (obligation.rule != rule) continue;
        if (const auto wrong = counter_example(obligation))
            return fmt::format("{}: {}", obligation.what, *wrong);
    }
    return {};
}

TEST(Mutants, AreRefused) {
    std::map<std::string, std::string> texts;  // of the certificates, by name
    for (Source& source : certificates()) texts[source.name] = std::move(source.text);
    std::set<std::string> mutated;
    for (const Mutant& mutant : mutants()) {
        const std::string where =
            fmt::format("{}: '{}' for '{}'", mutant.certificate, mutant.change, mutant.text);
        std::string text = texts.at(mutant.certificate);
        const std::size_t at = text.find(mutant.text);
        ASSERT_NE(at, std::string::npos) << where;
        ASSERT_EQ(text.find(mutant.text, at + 1), std::string::npos) << where;
        text.replace(at, mutant.text.size(), mutant.change);
        const Certificate certificate = parse_certificate(text);
        const std::string why = broken(certificate, mutant.rule);
        EXPECT_NE(why, "") << where << " breaks no rule " << mutant.rule;
        fmt::print("{}\n  {}: {}\n", where, mutant.rule, why);
        mutated.insert(mutant.certificate);

        // Nor is it what is built.
        Instantiation instance(certificate);
        const Choice choice = choice_of(certificate.algorithms.front());
        bool differs = false;
        for (int ranks = 1; ranks <= 9 && !differs; ++ranks) {
            for (const Problem& problem : problems_for(choice.algorithm->collective, ranks)) {
                instance.set(problem, choice.parameters[0]);
                differs |= instance.covers() && !difference(instance, problem, choice).empty();
            }
        }
        EXPECT_TRUE(differs) << where << " is not another list";
    }
    for (const auto& [name, text] : texts) EXPECT_TRUE(mutated.contains(name)) << name << " has no mutant";
}

}  // namespace
}  // namespace lapwing::proofs
