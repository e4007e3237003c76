C     FORTRAN 77, mpif.h.
      PROGRAM F77
      IMPLICIT NONE
      INCLUDE 'mpif.h'
      INTEGER MOST
      PARAMETER (MOST = 16)
      INTEGER IERR, RANK, RANKS, I, NERR, ALLERR, OP, INDEX
      INTEGER SENT(2, MOST), GOT(2, MOST), SUMS(3), LARGE(2), SEEN(3)
      INTEGER REQ, REQS(3), STATS(MPI_STATUS_SIZE, 3)
      INTEGER STAT(MPI_STATUS_SIZE)
      LOGICAL FLAG
      EXTERNAL WIDEST

      CALL MPI_INIT(IERR)
      CALL MPI_COMM_RANK(MPI_COMM_WORLD, RANK, IERR)
      CALL MPI_COMM_SIZE(MPI_COMM_WORLD, RANKS, IERR)
      NERR = 0

      DO 10 I = 1, RANKS
         SENT(1, I) = 100 * RANK + I
         SENT(2, I) = -I
         GOT(1, I) = 0
         GOT(2, I) = 0
   10 CONTINUE
      CALL MPI_IALLTOALL(SENT, 2, MPI_INTEGER, GOT, 2, MPI_INTEGER,
     &                   MPI_COMM_WORLD, REQ, IERR)
      CALL MPI_WAIT(REQ, STAT, IERR)
      DO 20 I = 1, RANKS
         IF (GOT(1, I) .NE. 100 * (I - 1) + RANK + 1) NERR = NERR + 1
         IF (GOT(2, I) .NE. -(RANK + 1)) NERR = NERR + 1
   20 CONTINUE
      IF (REQ .NE. MPI_REQUEST_NULL) NERR = NERR + 1

C     Three at once, one index after the other, from 1.
      DO 30 I = 1, 3
         SUMS(I) = RANK + I
         SEEN(I) = 0
         CALL MPI_IALLREDUCE(MPI_IN_PLACE, SUMS(I), 1, MPI_INTEGER,
     &                       MPI_SUM, MPI_COMM_WORLD, REQS(I), IERR)
   30 CONTINUE
      DO 40 I = 1, 3
         CALL MPI_WAITANY(3, REQS, INDEX, STAT, IERR)
         IF (INDEX .LT. 1 .OR. INDEX .GT. 3) THEN
            NERR = NERR + 1
         ELSE
            SEEN(INDEX) = SEEN(INDEX) + 1
         END IF
   40 CONTINUE
      DO 50 I = 1, 3
         IF (SEEN(I) .NE. 1) NERR = NERR + 1
         IF (SUMS(I) .NE. RANKS * (RANKS - 1) / 2 + I * RANKS)
     &      NERR = NERR + 1
   50 CONTINUE

C     An operator of the program, and a test of all with statuses.
      CALL MPI_OP_CREATE(WIDEST, .TRUE., OP, IERR)
      SENT(1, 1) = RANK
      SENT(2, 1) = RANKS - RANK
      CALL MPI_IREDUCE(SENT, LARGE, 2, MPI_INTEGER, OP, 0,
     &                 MPI_COMM_WORLD, REQS(1), IERR)
      CALL MPI_IBARRIER(MPI_COMM_WORLD, REQS(2), IERR)
      GOT(1, 1) = RANK
      CALL MPI_IBCAST(GOT, 1, MPI_INTEGER, RANKS - 1, MPI_COMM_WORLD,
     &                REQS(3), IERR)
      FLAG = .FALSE.
   60 IF (.NOT. FLAG) THEN
         CALL MPI_TESTALL(3, REQS, FLAG, STATS, IERR)
         GO TO 60
      END IF
      CALL MPI_OP_FREE(OP, IERR)
      IF (GOT(1, 1) .NE. RANKS - 1) NERR = NERR + 1
      DO 70 I = 1, 3
         IF (REQS(I) .NE. MPI_REQUEST_NULL) NERR = NERR + 1
   70 CONTINUE
      IF (RANK .EQ. 0) THEN
         IF (LARGE(1) .NE. RANKS - 1) NERR = NERR + 1
         IF (LARGE(2) .NE. RANKS) NERR = NERR + 1
      END IF

      IF (NERR .NE. 0) WRITE (*, *) 'RANK', RANK, ':', NERR, ' WRONG'
      CALL MPI_ALLREDUCE(NERR, ALLERR, 1, MPI_INTEGER, MPI_SUM,
     &                   MPI_COMM_WORLD, IERR)
      CALL MPI_FINALIZE(IERR)
      IF (ALLERR .NE. 0) STOP 1
      END

      SUBROUTINE WIDEST(LEFT, RIGHT, LENGTH, DTYPE)
      INTEGER LENGTH, DTYPE, I
      INTEGER LEFT(LENGTH), RIGHT(LENGTH)
      DO 80 I = 1, LENGTH
         IF (LEFT(I) .GT. RIGHT(I)) RIGHT(I) = LEFT(I)
   80 CONTINUE
      END
