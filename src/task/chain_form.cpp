#include "task/chain_form.hpp"

#include <fmt/format.h>

#include "task/text.hpp"

namespace lapwing {
namespace {

void print_chain(std::string& text, const std::string& title, const Chain& chain) {
    text += fmt::format("  {}\n", title);
    for (const Step& step : chain) text += fmt::format("    {}\n", print(step));
}

void print_local(std::string& text, const char* title, const std::vector<Task>& local) {
    if (local.empty()) return;
    text += fmt::format("  {}\n", title);
    for (const Task& task : local) text += fmt::format("    {}\n", print(task));
}

}  // namespace

std::string print(const Step& step) {
    const auto bytes = [&] {
        return step.span.length == 0 ? std::string("a signal") : lapwing::print(step.span);
    };
    switch (step.kind) {
        case Step::Kind::send:
            return fmt::format("send {} {}", step.peer, bytes());
        case Step::Kind::receive:
            return fmt::format("receive {} {}", step.peer, bytes());
        case Step::Kind::signal:
            return fmt::format("signal gate {}", step.gate);
        case Step::Kind::await:
            return fmt::format("await gate {} {}", step.gate, step.count);
    }
    return "";
}

std::string print(const Chains& chains) {
    std::string text = fmt::format("chains of rank {} of {}\n", chains.rank, chains.ranks);
    int peer = -1;  // also of the pieces that follow the first, which need not name it
    for (const Chain& chain : chains.receives) {
        for (const Step& step : chain) peer = step.peer >= 0 ? step.peer : peer;
        print_chain(text, fmt::format("receive chain from {}", peer), chain);
    }
    for (std::size_t i = 0; i < chains.stages.size(); ++i) {
        const Stage& stage = chains.stages[i];
        print_local(text, i == 0 ? "the processor, at the start" : "the processor, then", stage.local);
        for (const Chain& chain : stage.chains) print_chain(text, "sending chain", chain);
        print_local(text, "the processor, meanwhile", stage.beside);
    }
    print_local(text, "the processor, at the end", chains.last);
    return text;
}

}  // namespace lapwing
