// A double of a provider of libfabric, written from libfabric's manual pages: reliable datagrams between
// endpoints of one process. It is stricter than real ones, and ends the process with a text when its user
// breaks a rule; and it fails on demand in ways that real fabrics are known for. Demands are environment
// variables, read when the object that they concern is opened:
//
//   DOUBLE_OFI_ENDPOINTS=1        endpoints that the hardware has in all
//   DOUBLE_OFI_LOCAL=1            wants each span of memory registered, and its descriptor (FI_MR_LOCAL)
//   DOUBLE_OFI_MOST=1000          bytes of the longest message
//   DOUBLE_OFI_ROOM=4             sends, and receives, that it takes at once
//   DOUBLE_OFI_DESCRIPTOR=0       has no descriptor to sleep at
//   DOUBLE_OFI_LOST_EVENTS=2      so many of three events do not wake at the descriptor
//   DOUBLE_OFI_LATE=50            a completion shows after so many reads
//
// Writes to memory of a peer are in no order: at each read of the peer the last word that is missing appears.
// They wake nobody.
#include "links/doubles/ofi.hpp"

#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <rdma/providers/fi_prov.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace {

using namespace ofi_double;

// One thread at a time may use a domain (FI_THREAD_DOMAIN).
class OneThread {
  public:
    explicit OneThread(Endpoint& endpoint) : endpoint_(endpoint) {
        rule(!endpoint_.in_use.exchange(true), "two threads at once use one domain");
    }
    ~OneThread() { endpoint_.in_use = false; }

  private:
    Endpoint& endpoint_;
};

// What follows has the network's lock.

void announce(Queue& queue) {
    ++queue.events;
    if (queue.descriptor < 0 || static_cast<long>(queue.events % 3) < queue.lost_events) return;
    const std::uint64_t one = 1;
    static_cast<void>(!::write(queue.descriptor, &one, sizeof one));
}

void finish(Endpoint& endpoint, void* context, std::uint64_t flags, std::size_t bytes, int error = 0) {
    Completion done;
    done.entry.op_context = context;
    done.entry.flags = flags;
    done.entry.len = bytes;
    done.entry.err = error;
    done.reads_left = endpoint.queue->late;
    endpoint.queue->completions.push_back(done);
    announce(*endpoint.queue);
}

void end_send(std::uint64_t from, const Operation& send, int error = 0) {
    const auto sender = endpoints.find(from);
    if (sender == endpoints.end()) return;
    --sender->second->sends;
    finish(*sender->second, send.context, FI_SEND | FI_TAGGED, send.bytes, error);
}

// Matches what has arrived with receives, in order.
void match(Endpoint& endpoint) {
    for (auto arrival = endpoint.arrivals.begin(); arrival != endpoint.arrivals.end();) {
        const auto receive = std::find_if(
            endpoint.receives.begin(), endpoint.receives.end(),
            [&](const Operation& one) { return one.peer == arrival->from && one.tag == arrival->tag; });
        if (receive == endpoint.receives.end()) {
            ++arrival;
            continue;
        }
        const std::size_t bytes = std::min(arrival->bytes, receive->bytes);
        const bool eager = arrival->bytes <= eager_bytes;
        if (bytes > 0) std::memcpy(receive->data, eager ? arrival->copy.data() : arrival->send.data, bytes);
        finish(endpoint, receive->context, FI_RECV | FI_TAGGED, bytes,
               arrival->bytes > receive->bytes ? FI_ETRUNC : 0);
        if (!eager) end_send(arrival->from, arrival->send);
        endpoint.receives.erase(receive);
        arrival = endpoint.arrivals.erase(arrival);
    }
}

void check_span(const Endpoint& endpoint, const iovec& span, void* descriptor, std::uint64_t access) {
    if (!endpoint.domain->local || span.iov_len == 0) return;
    auto* region = static_cast<Region*>(descriptor);
    rule(endpoint.domain->regions.count(region) != 0, "a span has no registered region (FI_MR_LOCAL)");
    const auto* begin = static_cast<const std::byte*>(span.iov_base);
    rule(begin >= region->begin && begin + span.iov_len <= region->begin + region->bytes,
         "a span is not inside its region");
    rule((region->access & access) == access, "a region does not allow this access");
}

Operation begin(const Endpoint& endpoint, const fi_msg_tagged& message) {
    rule(endpoint.enabled, "an endpoint is used before fi_enable()");
    rule(message.iov_count == 1, "only one span for each message");
    rule(message.tag >> tag_bits == 0, "a tag has more than 48 bits");
    rule(message.ignore == 0, "a receive ignores bits of the tag");
    rule(message.addr < endpoint.addresses->numbers.size(), "no peer is named (FI_DIRECTED_RECV)");
    rule(message.context != nullptr, "FI_CONTEXT2 asks for a context");
    rule(message.msg_iov->iov_len <= endpoint.most, "a message is longer than max_msg_size");
    Operation operation;
    operation.context = message.context;
    operation.data = static_cast<std::byte*>(message.msg_iov->iov_base);
    operation.bytes = message.msg_iov->iov_len;
    operation.peer = endpoint.addresses->numbers[message.addr];
    operation.tag = message.tag;
    return operation;
}

void claim(Endpoint& endpoint, void* context) {
    rule(endpoint.contexts.insert(context).second, "a context is used again before its completion");
    // It is the provider's until then.
    std::memset(context, 0xd0, sizeof(fi_context2));
}

ssize_t receive(fid_ep* fid, const fi_msg_tagged* message, std::uint64_t) {
    Endpoint& endpoint = object_of<Endpoint>(fid);
    const OneThread one(endpoint);
    const std::lock_guard lock(network);
    const Operation operation = begin(endpoint, *message);
    if (static_cast<long>(endpoint.receives.size()) >= endpoint.room) return -FI_EAGAIN;
    check_span(endpoint, *message->msg_iov, message->desc == nullptr ? nullptr : *message->desc, FI_RECV);
    claim(endpoint, operation.context);
    endpoint.receives.push_back(operation);
    match(endpoint);
    return 0;
}

ssize_t send(fid_ep* fid, const fi_msg_tagged* message, std::uint64_t flags) {
    Endpoint& endpoint = object_of<Endpoint>(fid);
    const OneThread one(endpoint);
    const std::lock_guard lock(network);
    const Operation operation = begin(endpoint, *message);
    if (endpoint.sends >= endpoint.room) return -FI_EAGAIN;
    const bool inject = (flags & FI_INJECT) != 0;
    if (inject)
        rule(operation.bytes <= inject_bytes, "a message is longer than inject_size");
    else
        check_span(endpoint, *message->msg_iov, message->desc == nullptr ? nullptr : *message->desc, FI_SEND);
    claim(endpoint, operation.context);
    ++endpoint.sends;
    const auto peer = endpoints.find(operation.peer);
    if (peer == endpoints.end()) {
        end_send(endpoint.number, operation, FI_ECONNRESET);
        return 0;
    }
    Arrival arrival{endpoint.number, operation.tag, operation.bytes, {}, operation};
    const bool eager = operation.bytes <= eager_bytes;
    if (eager) arrival.copy.assign(operation.data, operation.data + operation.bytes);
    peer->second->arrivals.push_back(std::move(arrival));
    if (eager) end_send(endpoint.number, operation);
    announce(*peer->second->queue);
    return 0;
}

ssize_t write(fid_ep* fid, const void* from, std::size_t bytes, void* descriptor, fi_addr_t to,
              std::uint64_t offset, std::uint64_t key, void* context) {
    Endpoint& endpoint = object_of<Endpoint>(fid);
    const OneThread one(endpoint);
    const std::lock_guard lock(network);
    rule(endpoint.enabled && context != nullptr, "a write needs an endpoint in use, and a context");
    rule(to < endpoint.addresses->numbers.size(), "a write names no peer");
    if (endpoint.sends >= endpoint.room) return -FI_EAGAIN;
    check_span(endpoint, {const_cast<void*>(from), bytes}, descriptor, FI_WRITE);
    claim(endpoint, context);
    const auto peer = endpoints.find(endpoint.addresses->numbers[to]);
    if (peer == endpoints.end()) {
        finish(endpoint, context, FI_WRITE | FI_RMA, 0, FI_ECONNRESET);
        return 0;
    }
    const auto& regions = peer->second->domain->regions;
    const auto region = std::find_if(regions.begin(), regions.end(),
                                     [&](const Region* known) { return known->fid.key == key; });
    rule(region != regions.end() && ((*region)->access & FI_REMOTE_WRITE) != 0, "a write has no valid key");
    rule(offset + bytes <= (*region)->bytes, "a write is not inside its region");
    rule(offset % 8 == 0 && bytes % 8 == 0, "the double writes words");
    Write made{const_cast<std::byte*>((*region)->begin) + offset, std::vector<std::uint64_t>(bytes / 8)};
    std::memcpy(made.words.data(), from, bytes);
    peer->second->writes.push_back(std::move(made));
    finish(endpoint, context, FI_WRITE | FI_RMA, bytes);
    return 0;
}

void place_word(Endpoint& endpoint) {
    if (endpoint.writes.empty()) return;
    Write& last = endpoint.writes.back();
    std::memcpy(last.to + (last.words.size() - 1) * 8, &last.words.back(), 8);
    last.words.pop_back();
    if (last.words.empty()) endpoint.writes.pop_back();
}

ssize_t cancel(fid_t fid, void* context) {
    Endpoint& endpoint = *static_cast<Endpoint*>(fid->context);
    const std::lock_guard lock(network);
    const auto found = std::find_if(endpoint.receives.begin(), endpoint.receives.end(),
                                    [&](const Operation& one) { return one.context == context; });
    if (found == endpoint.receives.end()) return -FI_ENOENT;
    finish(endpoint, context, FI_RECV | FI_TAGGED, 0, FI_ECANCELED);
    endpoint.receives.erase(found);
    return 0;
}

ssize_t read(fid_cq* fid, void* buffer, std::size_t count) {
    Queue& queue = object_of<Queue>(fid);
    const OneThread one(*queue.endpoint);
    const std::lock_guard lock(network);
    match(*queue.endpoint);
    place_word(*queue.endpoint);
    auto* entries = static_cast<fi_cq_msg_entry*>(buffer);
    std::size_t taken = 0;
    for (Completion& completion : queue.completions)
        if (completion.reads_left > 0) --completion.reads_left;
    while (taken < count && !queue.completions.empty() && queue.completions.front().reads_left == 0) {
        const fi_cq_err_entry& entry = queue.completions.front().entry;
        if (entry.err != 0) {
            if (taken == 0) return -FI_EAVAIL;
            break;
        }
        entries[taken++] = {entry.op_context, entry.flags, entry.len};
        queue.endpoint->contexts.erase(entry.op_context);
        queue.completions.pop_front();
    }
    return taken == 0 ? -FI_EAGAIN : static_cast<ssize_t>(taken);
}

ssize_t read_error(fid_cq* fid, fi_cq_err_entry* entry, std::uint64_t) {
    Queue& queue = object_of<Queue>(fid);
    const OneThread one(*queue.endpoint);
    const std::lock_guard lock(network);
    if (queue.completions.empty() || queue.completions.front().entry.err == 0) return -FI_EAGAIN;
    *entry = queue.completions.front().entry;
    queue.endpoint->contexts.erase(entry->op_context);
    queue.completions.pop_front();
    return 1;
}

const char* error_text(fid_cq*, int, const void*, char*, std::size_t) {
    return "as the double was asked";
}

// Reads say when there is nothing; only then the descriptor is quiet.
int try_wait(fid_fabric*, fid** fids, int count) {
    rule(count == 1 && fids[0]->fclass == FI_CLASS_CQ, "fi_trywait() is for one completion queue");
    Queue& queue = *static_cast<Queue*>(fids[0]->context);
    const std::lock_guard lock(network);
    rule(queue.descriptor >= 0, "fi_trywait() needs a descriptor");
    match(*queue.endpoint);
    while (!queue.endpoint->writes.empty()) place_word(*queue.endpoint);
    // Late ones are the network's still: it wakes nobody for them.
    for (const Completion& completion : queue.completions)
        if (completion.reads_left == 0) return -FI_EAGAIN;
    std::uint64_t events = 0;
    static_cast<void>(!::read(queue.descriptor, &events, sizeof events));
    return 0;
}

int get_descriptor(fid* fid, int command, void* place) {
    if (command == FI_ENABLE && fid->fclass == FI_CLASS_EP) {
        Endpoint& endpoint = *static_cast<Endpoint*>(fid->context);
        rule(endpoint.addresses != nullptr && endpoint.queue != nullptr, "fi_enable() before the binds");
        endpoint.enabled = true;
        return 0;
    }
    if (command != FI_GETWAIT || fid->fclass != FI_CLASS_CQ) return -FI_ENOSYS;
    const int descriptor = static_cast<Queue*>(fid->context)->descriptor;
    if (descriptor < 0) return -FI_ENOSYS;
    *static_cast<int*>(place) = descriptor;
    return 0;
}

int get_name(fid_t fid, void* address, std::size_t* size) {
    const std::uint64_t number = static_cast<Endpoint*>(fid->context)->number;
    const bool fits = *size >= sizeof number;
    *size = sizeof number;
    if (!fits) return -FI_ETOOSMALL;
    std::memcpy(address, &number, sizeof number);
    return 0;
}

int insert(fid_av* fid, const void* from, std::size_t count, fi_addr_t* places, std::uint64_t, void*) {
    Addresses& addresses = object_of<Addresses>(fid);
    for (std::size_t i = 0; i < count; ++i) {
        std::uint64_t number = 0;
        std::memcpy(&number, static_cast<const std::byte*>(from) + i * sizeof number, sizeof number);
        places[i] = addresses.numbers.size();
        addresses.numbers.push_back(number);
    }
    return static_cast<int>(count);
}

int bind(fid* fid, struct fid* other, std::uint64_t flags) {
    Endpoint& endpoint = *static_cast<Endpoint*>(fid->context);
    if (other->fclass == FI_CLASS_AV) {
        endpoint.addresses = static_cast<Addresses*>(other->context);
    } else if (other->fclass == FI_CLASS_CQ) {
        rule(flags == (FI_TRANSMIT | FI_RECV), "one completion queue for both directions");
        endpoint.queue = static_cast<Queue*>(other->context);
        endpoint.queue->endpoint = &endpoint;
    } else {
        return -FI_EINVAL;
    }
    return 0;
}

int close(fid* fid) {
    const std::lock_guard lock(network);
    const auto delete_child = [](auto* child) {
        --child->domain->children;
        delete child;
        return 0;
    };
    switch (fid->fclass) {
        case FI_CLASS_EP: {
            auto* endpoint = static_cast<Endpoint*>(fid->context);
            endpoints.erase(endpoint->number);
            for (const Arrival& arrival : endpoint->arrivals)
                if (arrival.bytes > eager_bytes) end_send(arrival.from, arrival.send, FI_ECONNRESET);
            return delete_child(endpoint);
        }
        case FI_CLASS_CQ: {
            auto* queue = static_cast<Queue*>(fid->context);
            rule(std::ranges::none_of(endpoints, [&](const auto& one) { return one.second->queue == queue; }),
                 "a completion queue is closed before its endpoint");
            if (queue->descriptor >= 0) ::close(queue->descriptor);
            return delete_child(queue);
        }
        case FI_CLASS_AV:
            return delete_child(static_cast<Addresses*>(fid->context));
        case FI_CLASS_MR: {
            auto* region = static_cast<Region*>(fid->context);
            region->domain->regions.erase(region);
            return delete_child(region);
        }
        case FI_CLASS_DOMAIN: {
            auto* domain = static_cast<Domain*>(fid->context);
            rule(domain->children == 0, "a domain is closed before its children");
            --domain->fabric->children;
            delete domain;
            return 0;
        }
        default: {
            auto* fabric = static_cast<Fabric*>(fid->context);
            rule(fabric->children == 0, "a fabric is closed before its domain");
            delete fabric;
            return 0;
        }
    }
}

fi_ops general = {sizeof(fi_ops), close, bind, get_descriptor, nullptr, nullptr, nullptr};

template <typename Object>
Object* make(std::size_t kind) {
    auto* object = new Object;
    object->fid.fid = {kind, object, &general};
    return object;
}

int register_memory(fid* fid, const void* data, std::size_t bytes, std::uint64_t access, std::uint64_t,
                    std::uint64_t key, std::uint64_t, fid_mr** region, void*) {
    auto* domain = static_cast<Domain*>(fid->context);
    auto* made = make<Region>(FI_CLASS_MR);
    made->domain = domain;
    made->begin = static_cast<const std::byte*>(data);
    made->bytes = bytes;
    made->access = access;
    made->fid.mem_desc = made;
    made->fid.key = key;
    const std::lock_guard lock(network);
    for (const Region* other : domain->regions) rule(other->fid.key != key, "two regions have one key");
    domain->regions.insert(made);
    ++domain->children;
    *region = &made->fid;
    return 0;
}
fi_ops_mr memory_functions = {sizeof(fi_ops_mr), register_memory, nullptr, nullptr};

int open_addresses(fid_domain* domain, fi_av_attr*, fid_av** addresses, void*) {
    static fi_ops_av functions = {.size = sizeof functions, .insert = insert};
    auto* made = make<Addresses>(FI_CLASS_AV);
    made->domain = &object_of<Domain>(domain);
    ++made->domain->children;
    made->fid.ops = &functions;
    *addresses = &made->fid;
    return 0;
}

int open_queue(fid_domain* domain, fi_cq_attr* attributes, fid_cq** queue, void*) {
    static fi_ops_cq functions = {
        .size = sizeof functions, .read = read, .readerr = read_error, .strerror = error_text};
    rule(attributes->format == FI_CQ_FORMAT_MSG, "the double knows one format of completions");
    const bool has_descriptor = demand("DOUBLE_OFI_DESCRIPTOR", 1) != 0;
    if (attributes->wait_obj == FI_WAIT_FD && !has_descriptor) return -FI_ENOSYS;
    auto* made = make<Queue>(FI_CLASS_CQ);
    made->domain = &object_of<Domain>(domain);
    ++made->domain->children;
    made->fid.ops = &functions;
    if (attributes->wait_obj == FI_WAIT_FD) made->descriptor = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    made->lost_events = demand("DOUBLE_OFI_LOST_EVENTS", 0);
    made->late = demand("DOUBLE_OFI_LATE", 0);
    *queue = &made->fid;
    return 0;
}

int open_endpoint(fid_domain* domain, fi_info* info, fid_ep** endpoint, void*) {
    static fi_ops_ep functions = {.size = sizeof functions, .cancel = cancel};
    static fi_ops_cm names = {.size = sizeof names, .getname = get_name};
    static fi_ops_tagged messages = {.size = sizeof messages, .recvmsg = receive, .sendmsg = send};
    static fi_ops_rma writes = {.size = sizeof writes, .write = write};
    const std::lock_guard lock(network);
    if (static_cast<long>(endpoints.size()) >= demand("DOUBLE_OFI_ENDPOINTS", 1000)) return -FI_ENOSPC;
    auto* made = make<Endpoint>(FI_CLASS_EP);
    made->domain = &object_of<Domain>(domain);
    ++made->domain->children;
    made->number = ++numbers;
    made->room = demand("DOUBLE_OFI_ROOM", 1000);
    made->most = info->ep_attr->max_msg_size;
    made->fid.ops = &functions;
    made->fid.cm = &names;
    made->fid.tagged = &messages;
    made->fid.rma = &writes;
    endpoints[made->number] = made;
    *endpoint = &made->fid;
    return 0;
}

int open_domain(fid_fabric* fabric, fi_info* info, fid_domain** domain, void*) {
    static fi_ops_domain functions = {.size = sizeof functions,
                                      .av_open = open_addresses,
                                      .cq_open = open_queue,
                                      .endpoint = open_endpoint};
    auto* made = make<Domain>(FI_CLASS_DOMAIN);
    made->fabric = &object_of<Fabric>(fabric);
    ++made->fabric->children;
    made->local = (info->domain_attr->mr_mode & FI_MR_LOCAL) != 0;
    made->fid.ops = &functions;
    made->fid.mr = &memory_functions;
    *domain = &made->fid;
    return 0;
}

int open_fabric(fi_fabric_attr*, fid_fabric** fabric, void*) {
    static fi_ops_fabric functions = {.size = sizeof functions, .domain = open_domain, .trywait = try_wait};
    auto* made = make<Fabric>(FI_CLASS_FABRIC);
    made->fid.ops = &functions;
    *fabric = &made->fid;
    return 0;
}

// The double offers itself only to those who ask for what it is, as real providers do.
int get_info(std::uint32_t, const char*, const char*, std::uint64_t, const fi_info* hints, fi_info** info) {
    const bool local = demand("DOUBLE_OFI_LOCAL", 0) != 0;
    if (hints == nullptr || hints->ep_attr == nullptr || hints->ep_attr->type != FI_EP_RDM)
        return -FI_ENODATA;
    if ((hints->mode & FI_CONTEXT2) == 0) return -FI_ENODATA;
    if (local && (hints->domain_attr->mr_mode & FI_MR_LOCAL) == 0) return -FI_ENODATA;
    if ((hints->caps & FI_DIRECTED_RECV) == 0) return -FI_ENODATA;
    fi_info* made = fi_dupinfo(nullptr);
    if (made == nullptr) return -FI_ENOMEM;
    made->caps = FI_TAGGED | FI_SEND | FI_RECV | FI_DIRECTED_RECV | FI_RMA | FI_WRITE | FI_REMOTE_WRITE;
    made->mode = FI_CONTEXT2;
    made->addr_format = FI_FORMAT_UNSPEC;
    made->ep_attr->type = FI_EP_RDM;
    made->ep_attr->max_msg_size = static_cast<std::size_t>(demand("DOUBLE_OFI_MOST", 1L << 40));
    made->ep_attr->mem_tag_format = 0xaaaaaaaaaaaaaaaaULL >> (64 - tag_bits);
    made->tx_attr->inject_size = inject_bytes;
    made->tx_attr->msg_order = made->rx_attr->msg_order = FI_ORDER_SAS;
    made->domain_attr->threading = FI_THREAD_DOMAIN;
    made->domain_attr->control_progress = made->domain_attr->data_progress = FI_PROGRESS_MANUAL;
    made->domain_attr->mr_mode = local ? FI_MR_LOCAL : 0;
    made->domain_attr->name = ::strdup("card0");
    made->fabric_attr->name = ::strdup("double");
    *info = made;
    return 0;
}

fi_provider provider = {FI_VERSION(1, 0), FI_VERSION(1, 9), {}, "double", get_info, open_fabric, nullptr};

}  // namespace

extern "C" __attribute__((visibility("default"))) fi_provider* fi_prov_ini() {
    return &provider;
}
