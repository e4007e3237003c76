// The functions of MPI that a preload library defines for the program. All are in calls/, and those of
// `lapwing profile` in profile/.
#pragma once

#define LAPWING_MPI extern "C" __attribute__((visibility("default"))) int
