// The level of threads, as the program asks for it and as the MPI reports it, and membarrier(2) in MPI_Init.
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <thread>

#include "computing/exchange.hpp"

namespace computing {

void level(const std::string& asked) {
    const std::map<std::string, int> levels = {{"single", MPI_THREAD_SINGLE},
                                               {"funneled", MPI_THREAD_FUNNELED},
                                               {"serialized", MPI_THREAD_SERIALIZED},
                                               {"multiple", MPI_THREAD_MULTIPLE}};
    int of_tools = -1;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &of_tools);
    int provided = -1;
    if (asked == "init")
        MPI_Init(nullptr, nullptr);
    else
        MPI_Init_thread(nullptr, nullptr, levels.at(asked), &provided);
    int queried = -1;
    int is_main = -1;
    MPI_Query_thread(&queried);
    MPI_Is_thread_main(&is_main);
    check(is_main == 1, "MPI_Is_thread_main in the main thread");
    if (queried > MPI_THREAD_SINGLE) {
        int in_another = -1;
        std::thread([&] { MPI_Is_thread_main(&in_another); }).join();
        check(in_another == 0, "MPI_Is_thread_main in another thread");
    }
    exchange_once();
    int again = -1;
    MPI_Query_thread(&again);
    check(again == queried, "MPI_Query_thread changes");
    int of_later_tools = -1;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &of_later_tools);
    MPI_T_finalize();
    MPI_T_finalize();
    say("provided " + std::to_string(provided) + ", queried " + std::to_string(queried) + ", of tools " +
        std::to_string(of_tools) + ", " + std::to_string(of_later_tools));
}
// The call fails until the process is registered. The kernel makes a process with several threads wait for
// its registration, which must not be in MPI_Init then.
void registration(const std::string& process) {
    std::atomic<bool> ends{false};
    std::vector<std::thread> threads;
    if (process == "threads") threads.emplace_back([&] { ends.wait(false); });
    MPI_Init(nullptr, nullptr);
    const bool registered = ::syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
    check(registered == threads.empty(), "whether MPI_Init registers the process");
    watches = true;
    exchange_once();
    ends = true;
    ends.notify_all();
    for (std::thread& thread : threads) thread.join();
}

// A session with a level of its own.
void session() {
#if MPI_VERSION >= 4
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    MPI_Info_set(info, "thread_level", "MPI_THREAD_MULTIPLE");
    MPI_Session session = MPI_SESSION_NULL;
    MPI_Session_init(info, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Info_free(&info);
    exchange_once();
    MPI_Session_get_info(session, &info);
    char level[64] = "";
    int size = sizeof level;
    int found = 0;
    MPI_Info_get_string(info, "thread_level", &size, level, &found);
    int queried = -1;
    MPI_Query_thread(&queried);
    say("session " + std::string(level) + ", queried " + std::to_string(queried));
    MPI_Info_free(&info);
    MPI_Session_finalize(&session);
#endif
}

}  // namespace computing
