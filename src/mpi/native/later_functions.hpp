// Functions of a later standard than mpi.h's that pass the gate: the MPI of the process may be newer. Open
// MPI 5 and MPICH 5 have these; for any newer MPI, gate::knows_all() is false.
#pragma once

#include "mpi/native/gated_functions.hpp"

#define LAPWING_LATER(function, ...)      \
    extern "C" int function(__VA_ARGS__); \
    LAPWING_GATED(function)

#ifdef OPEN_MPI
#if MPI_VERSION < 4 && !defined(MPI_SESSION_NULL)
using MPI_Session = struct ompi_instance_t*;
using MPI_Session_errhandler_function = void(MPI_Session*, int*, ...);

LAPWING_LATER(MPI_Comm_create_from_group, MPI_Group, const char*, MPI_Info, MPI_Errhandler, MPI_Comm*)
LAPWING_LATER(MPI_Comm_idup_with_info, MPI_Comm, MPI_Info, MPI_Comm*, MPI_Request*)
LAPWING_LATER(MPI_Group_from_session_pset, MPI_Session, const char*, MPI_Group*)
LAPWING_LATER(MPI_Intercomm_create_from_groups, MPI_Group, int, MPI_Group, int, const char*, MPI_Info,
              MPI_Errhandler, MPI_Comm*)
LAPWING_LATER(MPI_Isendrecv, const void*, int, MPI_Datatype, int, int, void*, int, MPI_Datatype, int, int,
              MPI_Comm, MPI_Request*)
LAPWING_LATER(MPI_Isendrecv_replace, void*, int, MPI_Datatype, int, int, int, int, MPI_Comm, MPI_Request*)
LAPWING_LATER(MPI_Psend_init, const void*, int, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Info,
              MPI_Request*)
LAPWING_LATER(MPI_Precv_init, void*, int, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Info, MPI_Request*)
LAPWING_LATER(MPI_Pready, int, MPI_Request)
LAPWING_LATER(MPI_Pready_range, int, int, MPI_Request)
LAPWING_LATER(MPI_Pready_list, int, const int[], MPI_Request)
LAPWING_LATER(MPI_Parrived, MPI_Request, int, int*)
LAPWING_LATER(MPI_Session_call_errhandler, MPI_Session, int)
LAPWING_LATER(MPI_Session_finalize, MPI_Session*)
LAPWING_LATER(MPI_Session_get_info, MPI_Session, MPI_Info*)
LAPWING_LATER(MPI_Session_get_nth_pset, MPI_Session, MPI_Info, int, int*, char*)
LAPWING_LATER(MPI_Session_get_num_psets, MPI_Session, MPI_Info, int*)
LAPWING_LATER(MPI_Session_get_pset_info, MPI_Session, const char*, MPI_Info*)
LAPWING_LATER(MPI_Session_init, MPI_Info, MPI_Errhandler, MPI_Session*)
#endif
// Of mpi-ext.h.
LAPWING_LATER(MPIX_Comm_ack_failed, MPI_Comm, int, int*)
LAPWING_LATER(MPIX_Comm_agree, MPI_Comm, int*)
LAPWING_LATER(MPIX_Comm_failure_ack, MPI_Comm)
LAPWING_LATER(MPIX_Comm_failure_get_acked, MPI_Comm, MPI_Group*)
LAPWING_LATER(MPIX_Comm_get_failed, MPI_Comm, MPI_Group*)
LAPWING_LATER(MPIX_Comm_iagree, MPI_Comm, int*, MPI_Request*)
LAPWING_LATER(MPIX_Comm_revoke, MPI_Comm)
LAPWING_LATER(MPIX_Comm_shrink, MPI_Comm, MPI_Comm*)
#elif MPI_VERSION == 4 && MPI_SUBVERSION == 0
LAPWING_LATER(MPI_Buffer_flush, void)
LAPWING_LATER(MPI_Buffer_iflush, MPI_Request*)
LAPWING_LATER(MPI_Comm_attach_buffer, MPI_Comm, void*, int)
LAPWING_LATER(MPI_Comm_attach_buffer_c, MPI_Comm, void*, MPI_Count)
LAPWING_LATER(MPI_Comm_detach_buffer, MPI_Comm, void*, int*)
LAPWING_LATER(MPI_Comm_detach_buffer_c, MPI_Comm, void*, MPI_Count*)
LAPWING_LATER(MPI_Comm_flush_buffer, MPI_Comm)
LAPWING_LATER(MPI_Comm_iflush_buffer, MPI_Comm, MPI_Request*)
LAPWING_LATER(MPI_Session_attach_buffer, MPI_Session, void*, int)
LAPWING_LATER(MPI_Session_attach_buffer_c, MPI_Session, void*, MPI_Count)
LAPWING_LATER(MPI_Session_detach_buffer, MPI_Session, void*, int*)
LAPWING_LATER(MPI_Session_detach_buffer_c, MPI_Session, void*, MPI_Count*)
LAPWING_LATER(MPI_Session_flush_buffer, MPI_Session)
LAPWING_LATER(MPI_Session_iflush_buffer, MPI_Session, MPI_Request*)
LAPWING_LATER(MPI_Request_get_status_all, int, const MPI_Request[], int*, MPI_Status*)
LAPWING_LATER(MPI_Request_get_status_any, int, const MPI_Request[], int*, int*, MPI_Status*)
LAPWING_LATER(MPI_Request_get_status_some, int, const MPI_Request[], int*, int[], MPI_Status*)
#endif
