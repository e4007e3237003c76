// The functions of libdw that Symbols uses.
#pragma once

#include <elfutils/libdwfl.h>

#define LAPWING_ELFUTILS_FUNCTIONS(row)                                                                 \
    row(dwfl_begin) row(dwfl_end) row(dwfl_report_begin) row(dwfl_report_elf) row(dwfl_report_end)      \
        row(dwfl_build_id_find_elf) row(dwfl_standard_find_debuginfo) row(dwfl_offline_section_address) \
            row(dwfl_module_getelf) row(dwfl_module_addrname) row(dwfl_module_getsrc) row(dwfl_lineinfo)

namespace lapwing::watch {

struct Elfutils {
#define LAPWING_ROW(name) decltype(&::name) name;
    LAPWING_ELFUTILS_FUNCTIONS(LAPWING_ROW)
#undef LAPWING_ROW
};

}  // namespace lapwing::watch
