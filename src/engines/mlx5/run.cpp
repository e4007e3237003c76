#include "engines/mlx5/run.hpp"

#include <cstring>

#include "base/error.hpp"

namespace lapwing::mlx5 {
namespace {

std::uint64_t address_of(const std::byte* memory) {
    return reinterpret_cast<std::uint64_t>(memory);
}

}  // namespace

void RunMemory::make(Device& device, const Plan& plan) {
    if (memory_.scratch == nullptr && plan.scratch_bytes > 0) {
        memory_.make_scratch(plan.scratch_bytes);
        scratch_key_ = Registered(device, memory_.scratch.get(), plan.scratch_bytes);
    }
    if (plan.bounced) make_bounce(device, plan);
}

void RunMemory::make_bounce(Device& device, const Plan& plan) {
    const std::uint64_t bytes = plan.in_bytes + plan.out_bytes;
    bounced_ = true;
    if (bounce_ == nullptr && bytes > 0) {
        bounce_.reset(new std::byte[bytes]);
        bounce_key_ = Registered(device, bounce_.get(), bytes);
    }
    memory_.buffers.in = bounce_.get();
    memory_.buffers.out = bounce_.get() + plan.in_bytes;
}

void RunMemory::begin(Device& device, const Plan& plan, const Buffers& buffers) {
    memory_.buffers = buffers;
    bounced_ = false;
    make(device, plan);
    if (!bounced_) {
        try {
            in_key_ = Registered(device, buffers.in, plan.in_bytes);
            out_key_ = Registered(device, buffers.out, plan.out_bytes);
            return;
        } catch (const Error&) {
            // Memory that cannot be registered, such as read-only memory, is copied.
            in_key_.reset();
            out_key_.reset();
            make_bounce(device, plan);
        }
    }
    if (plan.in_bytes > 0) std::memcpy(bounce_.get(), buffers.in, plan.in_bytes);
    // Peers may already write where messages land.
    for (const Span& span : plan.not_received)
        std::memcpy(memory_.buffers.out + span.offset, buffers.out + span.offset, span.length);
}

void RunMemory::end(const Plan& plan, const Buffers& buffers) {
    in_key_.reset();
    out_key_.reset();
    if (!bounced_) return;
    for (const Span& span : plan.written)
        std::memcpy(buffers.out + span.offset, memory_.buffers.out + span.offset, span.length);
}

const MemoryKey& RunMemory::key(Space space) const {
    if (space == Space::scratch) return scratch_key_.key();
    if (bounced_) return bounce_key_.key();
    return space == Space::in ? in_key_.key() : out_key_.key();
}

Data RunMemory::data(const Span& span) const {
    if (span.length == 0) return {};
    return {address_of(memory_.source(span)), static_cast<std::uint32_t>(span.length), key(span.space).local};
}

RemoteData RunMemory::remote(const Span& span) const {
    if (span.length == 0) return {};
    return {address_of(memory_.source(span)), key(span.space).remote};
}

RunMemory::Names RunMemory::names(const Lane& lane, std::size_t turn) const {
    return {
        {address_of(memory_.buffers.in), address_of(memory_.buffers.out), address_of(memory_.scratch.get()),
         key(Space::in).local, key(Space::out).local, key(Space::scratch).local},
        &lane,
        turn};
}

}  // namespace lapwing::mlx5
