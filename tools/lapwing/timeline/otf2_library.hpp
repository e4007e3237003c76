// The functions of libotf2, which is loaded at run time. Only if the build found its headers.
#pragma once

#if __has_include(<otf2/otf2.h>)
#define LAPWING_OTF2 1

#include <otf2/otf2.h>

#define LAPWING_OTF2_FUNCTIONS(WITH)                \
    WITH(Archive_Open)                              \
    WITH(Archive_Close)                             \
    WITH(Archive_SetFlushCallbacks)                 \
    WITH(Archive_SetSerialCollectiveCallbacks)      \
    WITH(Archive_SetCreator)                        \
    WITH(Archive_SetDescription)                    \
    WITH(Archive_OpenEvtFiles)                      \
    WITH(Archive_CloseEvtFiles)                     \
    WITH(Archive_GetEvtWriter)                      \
    WITH(Archive_CloseEvtWriter)                    \
    WITH(Archive_OpenDefFiles)                      \
    WITH(Archive_CloseDefFiles)                     \
    WITH(Archive_GetDefWriter)                      \
    WITH(Archive_CloseDefWriter)                    \
    WITH(Archive_GetGlobalDefWriter)                \
    WITH(Archive_CloseGlobalDefWriter)              \
    WITH(GlobalDefWriter_WriteClockProperties)      \
    WITH(GlobalDefWriter_WriteParadigm)             \
    WITH(GlobalDefWriter_WriteString)               \
    WITH(GlobalDefWriter_WriteAttribute)            \
    WITH(GlobalDefWriter_WriteSystemTreeNode)       \
    WITH(GlobalDefWriter_WriteSystemTreeNodeDomain) \
    WITH(GlobalDefWriter_WriteLocationGroup)        \
    WITH(GlobalDefWriter_WriteLocation)             \
    WITH(GlobalDefWriter_WriteRegion)               \
    WITH(GlobalDefWriter_WriteGroup)                \
    WITH(GlobalDefWriter_WriteComm)                 \
    WITH(EvtWriter_Enter)                           \
    WITH(EvtWriter_Leave)                           \
    WITH(EvtWriter_MpiCollectiveBegin)              \
    WITH(EvtWriter_MpiCollectiveEnd)                \
    WITH(EvtWriter_NonBlockingCollectiveRequest)    \
    WITH(EvtWriter_NonBlockingCollectiveComplete)   \
    WITH(EvtWriter_GetNumberOfEvents)               \
    WITH(AttributeList_New)                         \
    WITH(AttributeList_Delete)                      \
    WITH(AttributeList_AddInt64)                    \
    WITH(AttributeList_AddDouble)                   \
    WITH(AttributeList_AddStringRef)                \
    WITH(Error_RegisterCallback)                    \
    WITH(Error_GetDescription)

namespace lapwing::tool {

struct Otf2Library {
#define LAPWING_WITH(function) decltype(&::OTF2_##function) function = nullptr;
    LAPWING_OTF2_FUNCTIONS(LAPWING_WITH)
#undef LAPWING_WITH
};

// Throws Error (unsupported) if the library is missing or older than version 3.0.
const Otf2Library& otf2_library();

}  // namespace lapwing::tool

#endif
