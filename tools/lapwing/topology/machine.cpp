#include "lapwing/topology/machine.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <hwloc.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace lapwing::tool {
namespace {

using Json = nlohmann::ordered_json;
using Object = hwloc_obj_t;

class HwlocTopology {
  public:
    HwlocTopology() {
        if (hwloc_topology_init(&topology_) != 0) refuse();
        if (hwloc_topology_load(topology_) != 0) {
            const int error = errno;
            hwloc_topology_destroy(topology_);
            errno = error;
            refuse();
        }
    }
    ~HwlocTopology() { hwloc_topology_destroy(topology_); }
    HwlocTopology(const HwlocTopology&) = delete;
    HwlocTopology& operator=(const HwlocTopology&) = delete;

    Object root() const { return hwloc_get_root_obj(topology_); }
    int count(hwloc_obj_type_t type) const { return std::max(0, hwloc_get_nbobjs_by_type(topology_, type)); }

  private:
    [[noreturn]] static void refuse() { throw_system("hwloc cannot read this machine"); }
    hwloc_topology_t topology_ = nullptr;
};

std::string print_size(std::uint64_t bytes) {
    const char* unit = "KiB";
    double size = static_cast<double>(bytes) / 1024;
    for (const char* larger : {"MiB", "GiB", "TiB"}) {
        if (size < 1024) break;
        size /= 1024;
        unit = larger;
    }
    return size < 10 && size != static_cast<double>(static_cast<int>(size))
               ? fmt::format("{:.1f} {}", size, unit)
               : fmt::format("{:.0f} {}", size, unit);
}

std::string plural(int count, const char* what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

// "L2", "L1d"
std::string type_of(Object object) {
    char text[64] = "";
    hwloc_obj_type_snprintf(text, sizeof text, object, 0);
    return text;
}

std::vector<Object> children_of(Object object) {
    return {object->children, object->children + object->arity};
}

std::vector<Object> memories_of(Object object) {
    std::vector<Object> memories;
    for (Object memory = object->memory_first_child; memory != nullptr; memory = memory->next_sibling) {
        // A cache in front of the memory stands between.
        Object node = memory;
        while (node != nullptr && node->type != HWLOC_OBJ_NUMANODE) node = node->memory_first_child;
        if (node != nullptr) memories.push_back(node);
    }
    return memories;
}

bool is_cache(Object object) {
    return hwloc_obj_type_is_cache(object->type) != 0;
}

// One core, with the caches that are its own around it.
bool is_one_core(Object object) {
    if (object->type == HWLOC_OBJ_CORE || object->type == HWLOC_OBJ_PU) return true;
    return is_cache(object) && object->arity == 1 && object->memory_arity == 0 &&
           is_one_core(object->children[0]);
}

void add_processors(Object object, std::vector<unsigned>& processors) {
    if (object->type == HWLOC_OBJ_PU) processors.push_back(object->os_index);
    for (const Object child : children_of(object)) add_processors(child, processors);
}

// "L2 512 KiB, L1d 32 KiB"
std::string own_caches(Object object) {
    std::vector<std::string> caches;
    for (;; object = object->children[0]) {
        if (is_cache(object))
            caches.push_back(fmt::format("{} {}", type_of(object), print_size(object->attr->cache.size)));
        if (object->arity != 1 || object->type == HWLOC_OBJ_CORE) break;
    }
    return fmt::format("{}", fmt::join(caches, ", "));
}

std::string heading(Object object) {
    switch (object->type) {
        case HWLOC_OBJ_PACKAGE: {
            const char* const model = hwloc_obj_get_info_by_name(object, "CPUModel");
            return fmt::format(
                "package {}{}",
                object->os_index == HWLOC_UNKNOWN_INDEX ? object->logical_index : object->os_index,
                model != nullptr ? fmt::format(": {}", model) : "");
        }
        case HWLOC_OBJ_DIE:
            return fmt::format(
                "die {}", object->os_index == HWLOC_UNKNOWN_INDEX ? object->logical_index : object->os_index);
        case HWLOC_OBJ_NUMANODE:
            return fmt::format("NUMA node {}: {}", object->os_index,
                               print_size(object->attr->numanode.local_memory));
        case HWLOC_OBJ_GROUP:
            return "group";
        default:
            return is_cache(object)
                       ? fmt::format("{} {}", type_of(object), print_size(object->attr->cache.size))
                       : type_of(object);
    }
}

class Drawing {
  public:
    explicit Drawing(std::size_t width) : width_(width) {}

    void draw_inside(Object object, std::size_t depth) {
        // Of a group, which is there for its node's sake, the nodes are the heading.
        if (object->type != HWLOC_OBJ_GROUP) draw_memories(object, depth);
        std::vector<Object> row;
        for (const Object child : children_of(object)) {
            if (is_one_core(child)) {
                if (!row.empty() && own_caches(row.front()) != own_caches(child)) draw_cores(row, depth);
                row.push_back(child);
                continue;
            }
            draw_cores(row, depth);
            if (child->type == HWLOC_OBJ_GROUP && child->memory_arity > 0) {
                draw_memories(child, depth);
            } else {
                line(depth, heading(child));
            }
            draw_inside(child, depth + 1);
        }
        draw_cores(row, depth);
    }
    std::string text() { return std::move(text_); }

  private:
    void line(std::size_t depth, const std::string& words) {
        text_ += fmt::format("{}{}\n", std::string(2 * depth, ' '), words);
    }
    void draw_memories(Object object, std::size_t depth) {
        for (const Object memory : memories_of(object)) line(depth, heading(memory));
    }
    void draw_cores(std::vector<Object>& cores, std::size_t depth) {
        if (cores.empty()) return;
        std::string row;
        for (const Object core : cores) {
            std::vector<unsigned> processors;
            add_processors(core, processors);
            const std::string cell = fmt::format("[{}]", fmt::join(processors, " "));
            if (!row.empty() && 2 * depth + row.size() + 1 + cell.size() > width_) {
                line(depth, row);
                row.clear();
            }
            row += (row.empty() ? "" : " ") + cell;
        }
        const std::string caches = own_caches(cores.front());
        if (!caches.empty()) row += fmt::format("  {}{}", cores.size() > 1 ? "each " : "", caches);
        line(depth, row);
        cores.clear();
    }

    std::size_t width_;
    std::string text_;
};

Json object_as_json(Object object) {
    Json json = {{"type", object->type == HWLOC_OBJ_PU ? "processor" : type_of(object)}};
    if (object->os_index != HWLOC_UNKNOWN_INDEX) json["number"] = object->os_index;
    if (is_cache(object)) json["bytes"] = object->attr->cache.size;
    if (object->type == HWLOC_OBJ_NUMANODE) json["bytes"] = object->attr->numanode.local_memory;
    if (const char* const model = hwloc_obj_get_info_by_name(object, "CPUModel")) json["model"] = model;
    for (const Object memory : memories_of(object)) json["memory"].push_back(object_as_json(memory));
    for (const Object child : children_of(object)) json["children"].push_back(object_as_json(child));
    return json;
}

}  // namespace

std::string draw_machine(std::size_t width) {
    const HwlocTopology machine;
    Drawing drawing(width);
    drawing.draw_inside(machine.root(), 1);
    const char* const name = hwloc_obj_get_info_by_name(machine.root(), "HostName");
    return fmt::format("{}: {}, {}, {}, {}, {} of memory\n{}", name != nullptr ? name : "machine",
                       plural(machine.count(HWLOC_OBJ_PACKAGE), "package"),
                       plural(machine.count(HWLOC_OBJ_NUMANODE), "NUMA node"),
                       plural(machine.count(HWLOC_OBJ_CORE), "core"),
                       plural(machine.count(HWLOC_OBJ_PU), "processor"),
                       print_size(machine.root()->total_memory), drawing.text());
}

Json machine_as_json() {
    return object_as_json(HwlocTopology().root());
}

}  // namespace lapwing::tool
