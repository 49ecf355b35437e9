! One-sided communication through `use mpi`.
program rma_use_mpi
  use mpi
  implicit none
  integer, parameter :: n = 64
  integer, asynchronous :: memory(n), got(n)
  integer :: rank, ranks, i, round, last, bad, total, ierr
  integer :: win
  integer(kind=MPI_ADDRESS_KIND) :: bytes, disp
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  last = ranks - 1
  bad = 0
  bytes = 4 * n
  disp = 0
  call MPI_Win_create(memory, bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierr)
  do round = 1, 5
    call MPI_Win_fence(0, win, ierr)
    memory = [(round * 1000 + i, i = 1, n)]
    call MPI_Win_fence(0, win, ierr)
    call MPI_Get(got, n, MPI_INTEGER, last, disp, n, MPI_INTEGER, win, ierr)
    call MPI_Win_fence(MPI_MODE_NOSUCCEED, win, ierr)
    bad = bad + count(got /= [(round * 1000 + i, i = 1, n)])
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    call MPI_Win_lock_all(0, win, ierr)
    do i = 1, 3
      got(1) = -1
      call MPI_Get(got, 1, MPI_INTEGER, last, disp, 1, MPI_INTEGER, win, ierr)
      call MPI_Win_flush(last, win, ierr)
      if (got(1) /= round * 1000 + 1) bad = bad + 1
    end do
    call MPI_Win_unlock_all(win, ierr)
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
  end do
  call MPI_Win_free(win, ierr)
  call MPI_Allreduce(bad, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  if (rank == 0) print *, 'wrong values:', total
  call MPI_Finalize(ierr)
  if (total /= 0) stop 1
end program
