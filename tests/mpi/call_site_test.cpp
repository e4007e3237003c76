// Calls that reach the MPI by way of a library are told apart by where the program makes them.
#include "mpi/native/call_site.hpp"
#include "support/unit.hpp"

extern "C" void call_between(void (*function)(void*), void* data);

namespace lapwing {
namespace {

CallSites& sites = *new CallSites;

struct Visit {
    const void* site = nullptr;     // where the call of visit() returns to
    const void* program = nullptr;  // where the program's call returns to
    const void* walked = nullptr;   // the same
};

[[gnu::noinline]] void visit(void* data) {
    const void* const site = __builtin_return_address(0);
    *static_cast<Visit*>(data) = {site, sites.in_program(site, __builtin_frame_address(0)),
                                  call_site_in_program(site)};
}

[[gnu::noinline]] Visit from_one_place() {
    Visit visited;
    call_between(visit, &visited);
    return visited;
}
[[gnu::noinline]] Visit from_another_place() {
    Visit visited;
    call_between(visit, &visited);
    return visited;
}

TEST(CallSites, OfALibraryBetweenAreThoseOfTheProgram) {
    for (int time = 0; time < 3; ++time) {
        SCOPED_TRACE(time);
        const Visit one = from_one_place();
        const Visit another = from_another_place();
        EXPECT_EQ(one.site, another.site);
        EXPECT_NE(one.program, another.program);
        EXPECT_EQ(one.program, one.walked);
        EXPECT_EQ(another.program, another.walked);
    }
}

TEST(CallSites, OfTheProgramStayAsTheyAre) {
    Visit visited;
    visit(&visited);
    EXPECT_EQ(visited.program, visited.site);
    EXPECT_EQ(visited.walked, visited.site);
}

// More than are remembered.
TEST(CallSites, ManyAreToldApart) {
    static const char code[4096] = {};
    std::set<const void*> found;
    for (const char& place : code) found.insert(sites.in_program(&place, __builtin_frame_address(0)));
    EXPECT_EQ(found.size(), std::size(code));
    EXPECT_EQ(from_one_place().program, from_one_place().walked);
}

}  // namespace
}  // namespace lapwing
