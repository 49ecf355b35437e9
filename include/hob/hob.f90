! The calls of hob.h for Fortran programs, with `use mpi` and mpif.h (of `use mpi_f08` give win%MPI_VAL).
!
! Compile this file with the program, by the compiler of the program; nothing has to be linked (before
! glibc 2.34: -ldl). Where Hob is not loaded the calls do nothing, and hob_loaded() is false.
!
! ierror is optional. docs/api.md says what each call does.
module hob
  use, intrinsic :: iso_c_binding
  implicit none
  private
  public :: hob_loaded, hob_invalidate, hob_invalidate_target, hob_counter, hob_heat_pause, hob_heat_resume

  integer, parameter :: success = 0 ! MPI_SUCCESS of every library

  abstract interface
    integer(c_int) function plain() bind(c)
      import :: c_int
    end function
    integer(c_int) function of_window(win) bind(c)
      import :: c_int
      integer(c_int), intent(in) :: win
    end function
    integer(c_int) function of_target(target, win) bind(c)
      import :: c_int
      integer(c_int), intent(in) :: target, win
    end function
    integer(c_int) function of_name(name, value) bind(c)
      import :: c_char, c_int, c_int64_t
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int64_t), intent(inout) :: value
    end function
  end interface

  interface
    type(c_funptr) function dlsym(library, name) bind(c, name='dlsym')
      import :: c_char, c_funptr, c_ptr
      type(c_ptr), value :: library
      character(kind=c_char), intent(in) :: name(*)
    end function
  end interface

contains

  ! Null where Hob is not loaded. A null library is all that the process has loaded.
  type(c_funptr) function address(name)
    character(len=*), intent(in) :: name
    address = dlsym(c_null_ptr, name // c_null_char)
  end function

  subroutine tell(status, ierror)
    integer(c_int), intent(in) :: status
    integer, intent(out), optional :: ierror
    if (present(ierror)) ierror = status
  end subroutine

  logical function hob_loaded()
    hob_loaded = c_associated(address('HOB_Invalidate_f'))
  end function

  subroutine hob_invalidate(win, ierror)
    integer, intent(in) :: win
    integer, intent(out), optional :: ierror
    procedure(of_window), pointer :: call_of
    call tell(success, ierror)
    if (.not. hob_loaded()) return
    call c_f_procpointer(address('HOB_Invalidate_f'), call_of)
    call tell(call_of(int(win, c_int)), ierror)
  end subroutine

  subroutine hob_invalidate_target(target, win, ierror)
    integer, intent(in) :: target, win
    integer, intent(out), optional :: ierror
    procedure(of_target), pointer :: call_of
    call tell(success, ierror)
    if (.not. hob_loaded()) return
    call c_f_procpointer(address('HOB_Invalidate_target_f'), call_of)
    call tell(call_of(int(target, c_int), int(win, c_int)), ierror)
  end subroutine

  ! value stays as it is where Hob is not loaded, and for a name that is none.
  subroutine hob_counter(name, value, ierror)
    character(len=*), intent(in) :: name
    integer(c_int64_t), intent(inout) :: value
    integer, intent(out), optional :: ierror
    procedure(of_name), pointer :: call_of
    call tell(success, ierror)
    if (.not. hob_loaded()) return
    call c_f_procpointer(address('HOB_Counter'), call_of)
    call tell(call_of(trim(name) // c_null_char, value), ierror)
  end subroutine

  subroutine hob_heat_pause(ierror)
    integer, intent(out), optional :: ierror
    call heat('HOB_Heat_pause', ierror)
  end subroutine

  subroutine hob_heat_resume(ierror)
    integer, intent(out), optional :: ierror
    call heat('HOB_Heat_resume', ierror)
  end subroutine

  subroutine heat(name, ierror)
    character(len=*), intent(in) :: name
    integer, intent(out), optional :: ierror
    procedure(plain), pointer :: call_of
    call tell(success, ierror)
    if (.not. hob_loaded()) return
    call c_f_procpointer(address(name), call_of)
    call tell(call_of(), ierror)
  end subroutine

end module
