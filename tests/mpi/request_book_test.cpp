#include "mpi/native/request_book.hpp"

#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <vector>

namespace lapwing {
namespace {

using State = RequestState;
using Event = RequestEvent;
using RunBy = WatchedRequest::RunBy;

constexpr std::array states{State::inactive, State::running, State::arrived, State::complete,
                            State::with_mpi};
constexpr std::array events{Event::start, Event::arrive, Event::complete, Event::give, Event::end};

TEST(RequestBook, HasOneTableOfTransitions) {
    constexpr auto none = std::optional<State>();
    // As `states`; in each row as `events`.
    constexpr std::array<std::array<std::optional<State>, 5>, 5> expected{{
        {State::running, none, none, none, none},
        {none, State::arrived, State::complete, none, State::inactive},
        {none, none, State::complete, none, none},
        {none, none, none, State::with_mpi, State::inactive},
        {none, none, none, none, State::inactive},
    }};
    for (std::size_t state = 0; state < states.size(); ++state) {
        for (std::size_t event = 0; event < events.size(); ++event)
            EXPECT_EQ(next(states[state], events[event]), expected[state][event]) << state << ' ' << event;
    }
}

struct Counts {
    int alive, lists, running_lists, native, moving;
    bool operator==(const Counts&) const = default;
};
Counts counts_of(const RequestBook& book) {
    return {book.alive(), book.lists(), book.running_lists(), book.native(), book.moving()};
}

TEST(RequestBook, CountsAListUntilTheProgramOrTheMpiHasItsCompletion) {
    RequestBook book;
    WatchedRequest list(RunBy::lapwing);
    list.bytes = 1;  // which only count by the MPI
    book.transition(list, Event::start);
    EXPECT_EQ(counts_of(book), (Counts{1, 1, 1, 0, 0}));
    book.transition(list, Event::arrive);
    EXPECT_EQ(counts_of(book), (Counts{1, 1, 0, 0, 0}));
    book.transition(list, Event::complete);
    EXPECT_EQ(counts_of(book), (Counts{1, 1, 0, 0, 0}));
    book.transition(list, Event::give);
    EXPECT_EQ(counts_of(book), (Counts{0, 0, 0, 0, 0}));
    book.transition(list, Event::end);
    EXPECT_EQ(list.state, State::inactive);
    EXPECT_EQ(counts_of(book), (Counts{0, 0, 0, 0, 0}));
}

TEST(RequestBook, CountsWhatTheMpiRuns) {
    RequestBook book;
    WatchedRequest collective(RunBy::mpi);
    WatchedRequest message(RunBy::mpi);
    message.bytes = 100'000;
    book.transition(collective, Event::start);
    EXPECT_EQ(counts_of(book), (Counts{1, 0, 0, 1, 0}));
    book.transition(message, Event::start);
    EXPECT_EQ(counts_of(book), (Counts{2, 0, 0, 2, 1}));
    book.transition(collective, Event::end);
    book.transition(message, Event::end);
    EXPECT_EQ(counts_of(book), (Counts{0, 0, 0, 0, 0}));
}

TEST(RequestBook, AnEventThatCannotHappenChangesNothing) {
    RequestBook book;
    WatchedRequest list(RunBy::lapwing);
    book.transition(list, Event::end);
    book.transition(list, Event::give);
    EXPECT_EQ(list.state, State::inactive);
    EXPECT_EQ(counts_of(book), (Counts{0, 0, 0, 0, 0}));
    book.transition(list, Event::start);
    book.transition(list, Event::start);
    EXPECT_EQ(counts_of(book), (Counts{1, 1, 1, 0, 0}));
}

TEST(RequestBook, CountsPersistentRequestsFromInsertionToErasure) {
    RequestBook book;
    WatchedRequest request(RunBy::lapwing);
    request.is_persistent = true;
    book.insert(7, request);
    EXPECT_EQ(book.persistent(), 1);
    book.transition(request, Event::start);
    EXPECT_EQ(book.persistent(), 1);
    book.erase(7, request);
    EXPECT_EQ(book.persistent(), 0);
}

// The MPI gives a handle again before the entry of its former request is erased.
TEST(RequestBook, ErasesNotTheNextRequestOfAHandle) {
    RequestBook book;
    WatchedRequest first(RunBy::mpi);
    WatchedRequest second(RunBy::mpi);
    second.is_persistent = true;
    first.is_persistent = true;
    book.insert(7, first);
    book.insert(7, second);
    EXPECT_EQ(book.persistent(), 1);
    book.erase(7, first);
    EXPECT_EQ(book.find(7), &second);
    EXPECT_EQ(book.persistent(), 1);
    book.erase(8, second);
    EXPECT_EQ(book.find(7), &second);
}

// Handles that share a slot, and more of them than the first table has room for, against a map.
TEST(RequestBook, FindsWhatAMapFinds) {
    RequestBook book;
    std::map<std::uint64_t, WatchedRequest*> expected;
    std::deque<WatchedRequest> requests;
    std::vector<WatchedRequest*> free;
    std::mt19937_64 random(1);
    for (int step = 0; step < 200'000; ++step) {
        // First few, then many, then few again.
        const std::uint64_t handles = step % 100'000 < 50'000 ? 40 : 2'000;
        const std::uint64_t handle = 1 + random() % handles;
        if (const auto found = expected.find(handle); found != expected.end()) {
            ASSERT_EQ(book.find(handle), found->second);
            book.erase(handle, *found->second);
            free.push_back(found->second);
            expected.erase(found);
        } else {
            ASSERT_EQ(book.find(handle), nullptr);
            if (free.empty()) free.push_back(&requests.emplace_back(RunBy::mpi));
            book.insert(handle, *free.back());
            expected[handle] = free.back();
            free.pop_back();
        }
    }
    for (std::uint64_t handle = 1; handle <= 2'000; ++handle) {
        const auto found = expected.find(handle);
        EXPECT_EQ(book.find(handle), found == expected.end() ? nullptr : found->second);
    }
}

TEST(RequestBook, RecordsTheCompletionOfACollective) {
    WatchedRequest(RunBy::mpi).record_completion();  // of a message: the journal has no call

    watch::CallRecord start{};
    start.state = 1 << 2;
    WatchedRequest persistent(RunBy::lapwing);
    persistent.starts = &start;
    start.start();
    EXPECT_TRUE(start.in_flight());
    persistent.record_completion();
    EXPECT_FALSE(start.in_flight());

    watch::journal().begin(1, {});
    watch::CommunicatorRecord* const record = watch::journal().add(77, 0, {0, 1}, {{}, 77});
    WatchedRequest once(RunBy::lapwing);
    once.recorded = {record, record->call(0, 8, "MPI_Ibcast", nullptr)};
    const auto in_flight = [] {
        return watch::journal().snapshot().communicators.back().recent.front().in_flight;
    };
    EXPECT_TRUE(in_flight());
    once.record_completion();
    EXPECT_FALSE(in_flight());
}

}  // namespace
}  // namespace lapwing
