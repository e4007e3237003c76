#include "mpi/native/libraries.hpp"
#include "support/unit.hpp"

#include <dlfcn.h>

namespace lapwing {
namespace {

// Some have versions and indirect functions, and the MPIs are those that are installed.
class Libraries : public testing::TestWithParam<const char*> {
  protected:
    void SetUp() override {
        handle = ::dlopen(GetParam(), RTLD_LAZY);
        if (handle == nullptr) GTEST_SKIP() << ::dlerror();
        link_map* map = nullptr;
        ASSERT_EQ(::dlinfo(handle, RTLD_DI_LINKMAP, &map), 0);
        path = map->l_name;
        base = map->l_addr;
        for (const ElfW(Dyn)* entry = map->l_ld; entry->d_tag != DT_NULL; ++entry) {
            if (entry->d_tag == DT_SYMTAB) symbols = reinterpret_cast<const ElfW(Sym)*>(entry->d_un.d_ptr);
            if (entry->d_tag == DT_STRTAB) strings = reinterpret_cast<const char*>(entry->d_un.d_ptr);
        }
        all = loaded_libraries();
        library = std::ranges::find_if(all, [&](const Library& one) { return one.path() == path; });
        ASSERT_NE(library, all.end());
    }

    // The table of strings follows that of symbols in all linkers' files.
    template <typename Visit>
    void for_each_symbol(Visit visit) const {
        for (const ElfW(Sym)* symbol = symbols; reinterpret_cast<const char*>(symbol + 1) <= strings;
             ++symbol)
            visit(*symbol, strings + symbol->st_name);
    }

    void* handle = nullptr;
    std::string path;
    std::uintptr_t base = 0;
    const ElfW(Sym) * symbols = nullptr;
    const char* strings = nullptr;
    std::vector<Library> all;
    std::vector<Library>::const_iterator library;
};

TEST_P(Libraries, FindsWhatTheLoaderFinds) {
    int found = 0;
    for_each_symbol([&](const ElfW(Sym) & symbol, const char* name) {
        const auto type = ELF64_ST_TYPE(symbol.st_info);
        if (type != STT_FUNC && type != STT_OBJECT && type != STT_GNU_IFUNC) return;
        void* const loaders = symbol.st_shndx != SHN_UNDEF ? ::dlsym(handle, name) : nullptr;
        EXPECT_EQ(library->find(name), loaders) << name;
        found += loaders != nullptr;
    });
    EXPECT_GT(found, 100);
    EXPECT_EQ(library->find("no function has this name"), nullptr);
}

TEST_P(Libraries, HasTheAddressesThatTheLoaderSays) {
    for_each_symbol([&](const ElfW(Sym) & symbol, const char* name) {
        if (symbol.st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol.st_info) != STT_FUNC) return;
        const auto* const address = reinterpret_cast<const void*>(base + symbol.st_value);
        Dl_info info{};
        ASSERT_NE(::dladdr(address, &info), 0) << name;
        for (const Library& one : all)
            EXPECT_EQ(one.contains(address),
                      info.dli_fbase == reinterpret_cast<void*>(base) && &one == &*library)
                << name << one.path();
    });
}

INSTANTIATE_TEST_SUITE_P(Of, Libraries,
                         testing::Values("libc.so.6", "libm.so.6", "libmpi.so.40", "libmpich.so.12",
                                         "libucp.so.0"),
                         [](const auto& one) {
                             const std::string name = one.param;
                             return name.substr(0, name.find('.'));
                         });

}  // namespace
}  // namespace lapwing
