#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/error.hpp"
#include "lapwing/common/output_file.hpp"
#include "lapwing/timeline/otf2_definitions.hpp"
#include "lapwing/timeline/timeline_writer.hpp"
#include "task/problem.hpp"

namespace lapwing::tool {

bool is_otf2(const std::string& file) {
    return file.ends_with(".otf2");
}

#ifndef LAPWING_OTF2

void require_otf2(const std::string&) {
    throw Error(ErrorCode::unsupported,
                "this lapwing cannot write OTF2 archives: OTF2's headers were missing when it "
                "was built (Debian: libotf2-trace-dev)");
}

std::unique_ptr<TimelineWriter> write_otf2(const std::vector<RankPart>&, const std::string& file) {
    require_otf2(file);
    return nullptr;
}

#else

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using trace::Call;

// Of an archive "/x/run.otf2": "/x/run".
fs::path stem_of(const std::string& file) {
    return fs::path(file).replace_extension();
}

// "12.evt", "12.def"
bool is_part(const fs::path& file) {
    const std::string name = file.stem();
    return (file.extension() == ".evt" || file.extension() == ".def") && !name.empty() &&
           name.find_first_not_of("0123456789") == std::string::npos;
}

void remove_archive(const std::string& file) {
    const fs::path stem = stem_of(file);
    std::error_code ignored;
    fs::remove(file, ignored);
    fs::remove(stem.string() + ".def", ignored);
    std::vector<fs::path> parts;
    for (const fs::directory_entry& entry : fs::directory_iterator(stem, ignored)) {
        if (is_part(entry.path())) parts.push_back(entry.path());
    }
    for (const fs::path& part : parts) fs::remove(part, ignored);
    fs::remove(stem, ignored);
}

class Otf2Writer : public TimelineWriter {
  public:
    Otf2Writer(const std::vector<RankPart>& parts, const std::string& file)
        : parts_(parts), file_(file), lib_(otf2_library()) {
        remove_archive(file);
        const fs::path stem = stem_of(file);
        lib_.Error_RegisterCallback(&keep_error, &error_);
        constexpr std::uint64_t event_chunk = 1U << 20;
        constexpr std::uint64_t definition_chunk = 4U << 20;
        archive_ =
            lib_.Archive_Open(stem.parent_path().c_str(), stem.filename().c_str(), OTF2_FILEMODE_WRITE,
                              event_chunk, definition_chunk, OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
        if (archive_ == nullptr) refuse(error_);
        static const OTF2_FlushCallbacks flush = {
            [](void*, OTF2_FileType, OTF2_LocationRef, void*, bool) -> OTF2_FlushType { return OTF2_FLUSH; },
            nullptr};
        check(lib_.Archive_SetFlushCallbacks(archive_, &flush, nullptr));
        check(lib_.Archive_SetSerialCollectiveCallbacks(archive_));
        check(lib_.Archive_SetCreator(archive_, "lapwing " LAPWING_VERSION));
        check(lib_.Archive_OpenEvtFiles(archive_));
        zero_ = static_cast<std::uint64_t>(std::floor(first_time(parts)));
        last_ = zero_;
    }
    ~Otf2Writer() override {
        if (archive_ != nullptr) lib_.Archive_Close(archive_);
    }

    void rank(const RankPart& part) override { definitions_.location(part.rank, main_track(part)); }
    void track(const RankPart& part, int track, const std::string& name) override {
        names_[otf2_location(part.rank, track)] = name;
    }
    void slice(const RankPart& /*part*/, Slice slice) override {
        tracks_[slice.track].push_back({std::move(slice), {}});
    }
    void arrow(const ArrowEnd&, const ArrowEnd&) override {}

    void end_of_rank(const RankPart& part) override {
        add_collectives();
        for (auto& [track, intervals] : tracks_) write_events(part, track, intervals);
        tracks_.clear();
    }

    void close() override {
        definitions_.add_ranks(parts_);
        // Readers expect files of each location, although they may be empty.
        for (auto& [id, location] : definitions_.locations) {
            if (names_.contains(id)) location.name = names_[id];
            if (location.events > 0) continue;
            OTF2_EvtWriter* writer = lib_.Archive_GetEvtWriter(archive_, id);
            if (writer == nullptr) refuse(error_);
            check(lib_.Archive_CloseEvtWriter(archive_, writer));
        }
        check(lib_.Archive_CloseEvtFiles(archive_));
        check(lib_.Archive_OpenDefFiles(archive_));
        for (const auto& [id, location] : definitions_.locations) {
            OTF2_DefWriter* writer = lib_.Archive_GetDefWriter(archive_, id);
            if (writer == nullptr) refuse(error_);
            check(lib_.Archive_CloseDefWriter(archive_, writer));
        }
        check(lib_.Archive_CloseDefFiles(archive_));
        check(definitions_.write(lib_, archive_, zero_, last_));
        check(lib_.Archive_Close(std::exchange(archive_, nullptr)));
    }

  private:
    enum class Mark { request, complete, begin, end };
    struct Interval {
        Slice slice;
        std::vector<std::pair<Mark, const Operation*> >
            marks;           // begin: at the start; other ones: before the end
        bool point = false;  // only its marks count
    };

    // Joins the halves of blocking calls, and finds the calls that start and complete each collective.
    void add_collectives() {
        std::map<const Operation*, std::vector<Interval*> > starts;  // and waits of blocking calls
        std::vector<Interval*> completing;
        for (auto& [track, intervals] : tracks_) {
            for (Interval& interval : intervals) {
                if (std::string_view(interval.slice.category) != "call") continue;
                const auto call = static_cast<Call>(interval.slice.event->kind);
                if (call == Call::start || call == Call::blocking_start || call == Call::blocking_wait) {
                    if (interval.slice.operation != nullptr)
                        starts[interval.slice.operation].push_back(&interval);
                } else {
                    completing.push_back(&interval);
                }
            }
        }
        std::stable_sort(completing.begin(), completing.end(), [](const Interval* a, const Interval* b) {
            return a->slice.ended < b->slice.ended;
        });
        std::map<int, std::vector<Interval> > added;  // by track
        for (const auto& [operation, calls] : starts) {
            if (communicator(*operation) == OTF2_UNDEFINED_COMM) continue;
            const auto first = static_cast<Call>(calls[0]->slice.event->kind);
            if (first == Call::start) {
                calls[0]->marks.emplace_back(Mark::request, operation);
                if (operation->complete)
                    complete(*operation, completing, *calls[0], added[calls[0]->slice.track]);
            } else if (calls.size() == 2 && first == Call::blocking_start) {
                Slice slice = calls[0]->slice;
                slice.name = blocking_name(operation->function);
                slice.ended = calls[1]->slice.ended;
                added[slice.track].push_back({slice, {{Mark::begin, operation}, {Mark::end, operation}}});
            }
        }
        // Before its halves, which may be as long.
        for (auto& [track, intervals] : added) {
            std::vector<Interval>& all = tracks_[track];
            all.insert(all.begin(), intervals.begin(), intervals.end());
        }
    }

    // A call with several requests has the number of its first one only.
    static void complete(const Operation& operation, const std::vector<Interval*>& completing,
                         const Interval& start, std::vector<Interval>& points) {
        const auto may_complete = [&](const Interval* call) {
            return call->slice.event->operation == operation.number || call->slice.event->index > 1;
        };
        auto call =
            std::lower_bound(completing.begin(), completing.end(), operation.ended,
                             [](const Interval* one, std::uint64_t at) { return one->slice.ended < at; });
        call = std::find_if(call, completing.end(), may_complete);
        if (call != completing.end()) {
            (*call)->marks.emplace_back(Mark::complete, &operation);
            return;
        }
        Slice slice = start.slice;
        slice.began = slice.ended = std::max(operation.ended, start.slice.ended);
        points.push_back({std::move(slice), {{Mark::complete, &operation}}, true});
    }

    OTF2_CommRef communicator(const Operation& operation) {
        if (operation.group == nullptr || operation.plan == nullptr) return OTF2_UNDEFINED_COMM;
        const Json& members = operation.group->at("members");
        if (members.empty()) return OTF2_UNDEFINED_COMM;
        return definitions_.communicators[{operation.group->at("agreed").get<std::uint64_t>(),
                                           members.get<std::vector<std::uint64_t> >()}];
    }

    std::uint64_t ticks(const RankPart& part, std::uint64_t time) {
        const auto tick = static_cast<std::uint64_t>(std::llround(part.aligned(time)));
        last_ = std::max(last_, tick);
        return tick;
    }

    static std::string region_of(const Slice& slice) {
        const std::string_view category = slice.category;
        if (category == "task") return slice.arguments.at("kind");
        if (category == "chain") return slice.arguments.contains("peer") ? "receives" : "sends";
        if (category == "collective") return slice.name + " (list)";
        return slice.name;
    }

    void write_events(const RankPart& part, int track, std::vector<Interval>& intervals) {
        OTF2_EvtWriter* writer = lib_.Archive_GetEvtWriter(archive_, otf2_location(part.rank, track));
        if (writer == nullptr) refuse(error_);
        std::stable_sort(intervals.begin(), intervals.end(), [](const Interval& a, const Interval& b) {
            return a.slice.began != b.slice.began ? a.slice.began < b.slice.began
                                                  : a.slice.ended > b.slice.ended;
        });
        struct Open {
            const Interval* interval;
            std::uint32_t region;
            std::uint64_t ended;
        };
        std::vector<Open> open;
        std::uint64_t now = 0;  // time never goes backwards at a location
        const auto leave_until = [&](std::uint64_t time) {
            while (!open.empty() && open.back().ended <= time) {
                const Open last = open.back();
                open.pop_back();
                now = std::max(now, last.ended);
                for (const auto& [mark, operation] : last.interval->marks) {
                    if (mark != Mark::begin) write_mark(writer, now, mark, *operation);
                }
                check(lib_.EvtWriter_Leave(writer, nullptr, now, last.region));
            }
        };
        for (const Interval& interval : intervals) {
            const Slice& slice = interval.slice;
            const std::uint64_t began = ticks(part, slice.began);
            leave_until(began);
            now = std::max(now, began);
            if (interval.point) {
                for (const auto& [mark, operation] : interval.marks)
                    write_mark(writer, now, mark, *operation);
                continue;
            }
            std::uint64_t ended = std::max(now, ticks(part, slice.ended));
            if (!open.empty()) ended = std::min(ended, open.back().ended);
            const std::string name = region_of(slice);
            const bool mpi =
                std::string_view(slice.category) == "call" && name.find(' ') == std::string::npos;
            const std::uint32_t region = definitions_.regions[{name, mpi}];
            enter(writer, now, region, slice.arguments);
            for (const auto& [mark, operation] : interval.marks) {
                if (mark == Mark::begin) write_mark(writer, now, mark, *operation);
            }
            open.push_back({&interval, region, ended});
        }
        leave_until(OTF2_UNDEFINED_TIMESTAMP);
        check(lib_.EvtWriter_GetNumberOfEvents(writer, &definitions_.location(part.rank, track).events));
        check(lib_.Archive_CloseEvtWriter(archive_, writer));
    }

    void write_mark(OTF2_EvtWriter* writer, std::uint64_t time, Mark mark, const Operation& operation) {
        if (mark == Mark::begin) return check(lib_.EvtWriter_MpiCollectiveBegin(writer, nullptr, time));
        if (mark == Mark::request)
            return check(
                lib_.EvtWriter_NonBlockingCollectiveRequest(writer, nullptr, time, operation.number));
        const Json& plan = *operation.plan;
        const auto collective = find_collective(plan.at("collective").get<std::string>());
        const OTF2_CollectiveOp kind = otf2_operation(collective.value_or(Collective::barrier));
        const auto root = plan.value("root", OTF2_UNDEFINED_UINT32);
        const auto sent = plan.value("in_bytes", std::uint64_t{0});
        const auto received = plan.value("out_bytes", std::uint64_t{0});
        const OTF2_CommRef comm = communicator(operation);
        check(mark == Mark::end
                  ? lib_.EvtWriter_MpiCollectiveEnd(writer, nullptr, time, kind, comm, root, sent, received)
                  : lib_.EvtWriter_NonBlockingCollectiveComplete(writer, nullptr, time, kind, comm, root,
                                                                 sent, received, operation.number));
    }

    // What is known of a slice becomes attributes, of one type for each name.
    void enter(OTF2_EvtWriter* writer, std::uint64_t time, std::uint32_t region, const Json& arguments) {
        OTF2_AttributeList* list = lib_.AttributeList_New();
        for (const auto& [key, value] : arguments.items()) {
            const OTF2_Type type = value.is_string()         ? OTF2_TYPE_STRING
                                   : value.is_number_float() ? OTF2_TYPE_DOUBLE
                                                             : OTF2_TYPE_INT64;
            const std::uint32_t attribute = definitions_.attributes[{key, type}];
            if (type == OTF2_TYPE_STRING) {
                lib_.AttributeList_AddStringRef(list, attribute,
                                                definitions_.strings[value.get<std::string>()]);
            } else if (type == OTF2_TYPE_DOUBLE) {
                lib_.AttributeList_AddDouble(list, attribute, value.get<double>());
            } else {
                lib_.AttributeList_AddInt64(
                    list, attribute, value.is_boolean() ? value.get<bool>() : value.get<std::int64_t>());
            }
        }
        const OTF2_ErrorCode code = lib_.EvtWriter_Enter(writer, list, time, region);
        lib_.AttributeList_Delete(list);
        check(code);
    }

    static OTF2_ErrorCode keep_error(void* data, const char*, std::uint64_t, const char*, OTF2_ErrorCode code,
                                     const char*, va_list) {
        auto& kept = *static_cast<OTF2_ErrorCode*>(data);
        if (kept == OTF2_SUCCESS) kept = code;
        return code;
    }
    void check(OTF2_ErrorCode code) const {
        if (code != OTF2_SUCCESS) refuse(error_ != OTF2_SUCCESS ? error_ : code);
    }
    [[noreturn]] void refuse(OTF2_ErrorCode code) const {
        throw Error(ErrorCode::system, fmt::format("the timeline cannot be written to {}: {}", file_,
                                                   lib_.Error_GetDescription(code)));
    }

    const std::vector<RankPart>& parts_;
    std::string file_;
    const Otf2Library& lib_;
    OTF2_Archive* archive_ = nullptr;
    OTF2_ErrorCode error_ = OTF2_SUCCESS;  // the first that the library reported
    std::uint64_t zero_ = 0;
    std::uint64_t last_ = 0;
    std::map<int, std::vector<Interval> > tracks_;   // of the present rank
    std::map<OTF2_LocationRef, std::string> names_;  // of tracks, also of those without slices
    Otf2Definitions definitions_;
};

}  // namespace

void require_otf2(const std::string& file) {
    otf2_library();
    const fs::path stem = stem_of(file);
    if (stem.filename().empty() || stem.filename() == ".otf2")
        throw Error(ErrorCode::invalid_argument, "an OTF2 archive needs a name before its ending .otf2");
    std::error_code none;
    if (fs::exists(stem, none)) {
        for (const fs::directory_entry& entry : fs::directory_iterator(stem, none)) {
            if (is_part(entry.path())) continue;
            none = std::make_error_code(std::errc::file_exists);
        }
        if (none || !fs::is_directory(stem)) {
            throw Error(
                ErrorCode::system,
                fmt::format(
                    "the timeline cannot be written to {}: its directory would be {}, which has other "
                    "contents",
                    file, stem.string()));
        }
    }
    require_writable(file, "the timeline");
}

std::unique_ptr<TimelineWriter> write_otf2(const std::vector<RankPart>& parts, const std::string& file) {
    return std::make_unique<Otf2Writer>(parts, file);
}

#endif

}  // namespace lapwing::tool
