#include "engines/mlx5/requests.hpp"

namespace lapwing::mlx5 {

void put_request(std::byte* block, const WorkRequest& request, const Operands& operands) {
    const Report report = request.reports ? Report::yes : Report::no;
    const Position position{0, operands.queue_pair};
    switch (request.kind) {
        case WorkRequest::Kind::write:
            if (request.from.length == 0 || operands.target.key != 0) {
                put_write(block, position, operands.target, operands.data, true, report);
                return;
            }
            [[fallthrough]];
        case WorkRequest::Kind::send:
            put_send(block, position, operands.data, report);
            return;
        case WorkRequest::Kind::copy:
            put_write(block, position, operands.target, operands.data, false, report);
            return;
        case WorkRequest::Kind::wait:
            put_wait(block, position, operands.object, 0, report);
            return;
        case WorkRequest::Kind::enable:
            put_enable(block, position, operands.object, 0, report);
            return;
    }
}

void rearm(std::byte* block, const WorkRequest& request, std::uint16_t index, std::uint32_t before) {
    move_to(block, index);
    if (request.kind == WorkRequest::Kind::wait) {
        wait_for(block, before + static_cast<std::uint32_t>(request.count) - 1);
    } else if (request.kind == WorkRequest::Kind::enable) {
        enable_up_to(block, static_cast<std::uint16_t>(before + request.count));
    }
}

}  // namespace lapwing::mlx5
