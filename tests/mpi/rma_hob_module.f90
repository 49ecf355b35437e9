! The calls of hob.f90, in mode user: what Hob keeps until it is told otherwise, and that a program
! that makes them runs without Hob.
#include "hob/hob.f90"

program rma_hob_module
  use mpi
  use hob
  use, intrinsic :: iso_c_binding, only: c_int64_t
  implicit none
  integer, asynchronous, target, save :: memory(8), got(1)
  integer :: rank, wrong, total, ierr, info, win
  integer(kind=MPI_ADDRESS_KIND) :: bytes
  integer(c_int64_t) :: before, after
  logical :: loaded
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  wrong = 0
  loaded = hob_loaded()
  bytes = 32
  memory = 1
  call MPI_Info_create(info, ierr)
  call MPI_Info_set(info, 'hob_cache', 'user', ierr)
  call MPI_Win_create(memory, bytes, 4, info, MPI_COMM_WORLD, win, ierr)
  call MPI_Info_free(info, ierr)
  call expect(1)
  before = -1
  after = -1
  call hob_counter('hits_full', before)
  call expect(1)
  call hob_counter('hits_full', after)
  if (rank == 0 .and. loaded .and. after <= before) wrong = wrong + 1
  if (loaded .neqv. before >= 0) wrong = wrong + 1

  call write_all(2)
  if (loaded) call expect(1) ! what mode user promises
  call hob_invalidate(win, ierr)
  if (ierr /= MPI_SUCCESS) wrong = wrong + 1
  call expect(2)

  call write_all(3)
  call hob_invalidate_target(0, win)
  if (loaded) call expect(2)
  call hob_invalidate_target(1, win, ierr)
  if (ierr /= MPI_SUCCESS) wrong = wrong + 1
  call expect(3)
  call hob_invalidate_target(99, win, ierr)
  if (loaded .neqv. ierr /= MPI_SUCCESS) wrong = wrong + 1
  call hob_counter('no such counter', before, ierr)
  if (loaded .neqv. ierr /= MPI_SUCCESS) wrong = wrong + 1
  call hob_heat_pause(ierr)
  if (ierr /= MPI_SUCCESS) wrong = wrong + 1
  call hob_heat_resume()

  call MPI_Win_free(win, ierr)
  call MPI_Allreduce(wrong, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  if (rank == 0) print *, 'wrong:', total
  call MPI_Finalize(ierr)
  if (total /= 0) stop 1

contains

  ! Rank 0 gets the first word of rank 1.
  subroutine expect(value)
    integer, intent(in) :: value
    integer(kind=MPI_ADDRESS_KIND) :: disp
    if (rank /= 0) return
    disp = 0
    got = -1
    call MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win, ierr)
    call MPI_Get(got, 1, MPI_INTEGER, 1, disp, 1, MPI_INTEGER, win, ierr)
    call MPI_Win_unlock(1, win, ierr)
    if (got(1) /= value) wrong = wrong + 1
  end subroutine

  subroutine write_all(value)
    integer, intent(in) :: value
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    call MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win, ierr)
    memory = value
    call MPI_Win_unlock(rank, win, ierr)
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
  end subroutine

end program
