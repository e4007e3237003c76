#include "lapwing/common/list_json.hpp"

namespace lapwing::tool {
namespace {

Json to_json(Span span) {
    return {{"space", name(span.space)}, {"offset", span.offset}, {"length", span.length}};
}

Json to_json(const Task& task) {
    Json json = {{"kind", name(task.kind)}};
    const unsigned has = fields(task.kind);
    if ((has & PEER) != 0) json["peer"] = task.peer;
    if ((has & OP) != 0) {
        json["op"] = name(task.op);
        json["type"] = name(task.type);
    }
    if ((has & TARGET) != 0) json["target"] = to_json(task.target);
    if ((has & SOURCE) != 0) json["source"] = to_json(task.source);
    if ((has & COUNT) != 0) json["count"] = task.count;
    return json;
}

Json to_json(const QueuedTask& queued) {
    Json json = to_json(queued.task);
    json["enabled"] = queued.enabled;
    return json;
}

Json to_json(const Part& part) {
    return {{"peer", part.peer}, {"offset", part.offset}, {"bytes", part.bytes}};
}

Json to_json(const Step& step) {
    switch (step.kind) {
        case Step::Kind::send:
            return {
                {"kind", "send"}, {"peer", step.peer}, {"source", to_json(step.span)}, {"task", step.task}};
        case Step::Kind::receive:
            return {{"kind", "receive"},
                    {"peer", step.peer},
                    {"target", to_json(step.span)},
                    {"task", step.task}};
        case Step::Kind::signal:
            return {{"kind", "signal"}, {"gate", step.gate}};
        case Step::Kind::await:
            return {{"kind", "await"}, {"gate", step.gate}, {"count", step.count}};
    }
    return {};
}

template <class Element>
Json to_json(const std::vector<Element>& elements) {
    Json json = Json::array();
    for (const Element& element : elements) json.push_back(to_json(element));
    return json;
}

}  // namespace

Json to_json(const Problem& problem) {
    Json json = {{"collective", name(problem.collective)}, {"ranks", problem.ranks}};
    if (has_root(problem.collective)) json["root"] = problem.root;
    const bool has_bytes = problem.collective != Collective::barrier && !has_parts(problem.collective);
    if (has_bytes || problem.bytes != 0) json["bytes"] = problem.bytes;
    if (may_be_in_place(problem.collective)) json["in_place"] = problem.in_place;
    if (is_reduction(problem.collective)) {
        json["op"] = name(problem.op);
        json["type"] = name(problem.type);
        if (problem.type == Type::opaque) json["element"] = problem.element;
        json["ordered"] = problem.ordered;
    }
    if (const Placement* placement = problem.placement.get()) {
        for (int level = 0; level < placement->levels(); ++level) {
            Json groups = Json::array();
            for (int rank = 0; rank < problem.ranks; ++rank)
                groups.push_back(placement->group_of(level, rank));
            if (level == 0)
                json["hosts"] = groups;
            else
                json["groups"].push_back(groups);
        }
        if (!placement->in_default_order())
            json["order"] = std::vector(placement->order().begin(), placement->order().end());
    }
    for (const Parts& parts : problem.parts) {
        json["parts"].push_back({{"sends", to_json(parts.sends)}, {"receives", to_json(parts.receives)}});
    }
    return json;
}

Json to_json(const Choice& choice) {
    Json parameters = Json::object();
    for (std::size_t i = 0; i < choice.algorithm->parameters.size(); ++i) {
        parameters[choice.algorithm->parameters[i].name] = choice.parameters[i];
    }
    return {{"name", choice.algorithm->name}, {"parameters", parameters}};
}

Json to_json(const List& list) {
    return {{"rank", list.rank},
            {"in_bytes", list.in_bytes},
            {"out_bytes", list.out_bytes},
            {"scratch_bytes", list.scratch_bytes},
            {"tasks", to_json(list.tasks)}};
}

Json to_json(const Queues& queues) {
    Json peers = Json::array();
    for (const PeerQueues& peer : queues.peers) {
        peers.push_back(
            {{"peer", peer.peer}, {"send", to_json(peer.send)}, {"receive", to_json(peer.receive)}});
    }
    return {{"rank", queues.rank}, {"peers", peers}, {"management", to_json(queues.management)}};
}

Json to_json(const Chains& chains) {
    Json stages = Json::array();
    for (const Stage& stage : chains.stages) {
        stages.push_back({{"local", to_json(stage.local)}, {"chains", to_json(stage.chains)}});
        if (!stage.beside.empty()) stages.back()["beside"] = to_json(stage.beside);
    }
    return {{"rank", chains.rank},
            {"gates", chains.gates},
            {"receives", to_json(chains.receives)},
            {"stages", stages},
            {"last", to_json(chains.last)}};
}

}  // namespace lapwing::tool
