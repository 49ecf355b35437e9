/* Stands for Hob: functions of so many instructions as counted.h says. Calls go through the table
 * of addresses that the dynamic linker has filled when the library was loaded. */
#include "prices/counted.h"

#define FUNCTION(name, body)                                                       \
  __asm__(".text\n.globl " #name "\n.type " #name ", @function\n" #name ":\n" body \
          "\n.size " #name ", . - " #name)

FUNCTION(counted_plain,
         "mov $100, %ecx\n"
         "1: dec %ecx\n"
         "jnz 1b\n"
         "ret");
FUNCTION(counted_calls,
         "sub $8, %rsp\n"
         "call *stand_in_work@GOTPCREL(%rip)\n"
         "add $8, %rsp\n"
         "ret");
FUNCTION(counted_ends_in_call, "jmp *stand_in_work@GOTPCREL(%rip)");
FUNCTION(counted_called_back,
         "sub $8, %rsp\n"
         "call *stand_in_calls_back@GOTPCREL(%rip)\n"
         "add $8, %rsp\n"
         "ret");
FUNCTION(counted_clock,
         "rdtsc\n"
         "mov %eax, %ecx\n"
         "rdtsc\n"
         "sub %ecx, %eax\n"
         "ret");
FUNCTION(counted_copies,
         "sub $8, %rsp\n"
         "call *memcpy@GOTPCREL(%rip)\n"
         "add $8, %rsp\n"
         "ret");
FUNCTION(counted_string,
         "mov %rdx, %rcx\n"
         "rep movsb\n"
         "ret");
