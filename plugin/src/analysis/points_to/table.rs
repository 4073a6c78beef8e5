//! The table of library functions: names, and what each does. See [`super::Effect`] for the words.

use super::Effect::{self, *};
use super::Given::{Argument, Kept, Nothing};
use super::Slot::{Buffers, Exits, Handlers, Keys, Tokens};
use super::When::{Later, Now, Thread};
use super::{Given, Slot};

/// A row: names, set apart by spaces, and what each of them does.
type Row = (&'static str, &'static [Effect]);

/// Functions by name.
#[rustfmt::skip]
pub const FUNCTIONS: &[Row] = &[
    // Allocation.
    ("malloc valloc pvalloc _Znwm _Znam _ZnwmRKSt9nothrow_t _ZnamRKSt9nothrow_t _ZnwmSt11align_val_t \
      _ZnamSt11align_val_t _ZnwmSt11align_val_tRKSt9nothrow_t _ZnamSt11align_val_tRKSt9nothrow_t \
      __cxa_allocate_exception", &[New(&[0]), UsesLibrary]),
    ("calloc", &[New(&[0, 1]), UsesLibrary]),
    ("aligned_alloc memalign", &[New(&[1]), UsesLibrary]),
    ("realloc", &[New(&[1]), NewFrom(0), Reads(0), UsesLibrary]),
    ("reallocarray", &[New(&[1, 2]), NewFrom(0), Reads(0), UsesLibrary]),
    ("posix_memalign", &[NewAt(0, Some(2)), Writes(0)]),
    ("strdup strndup __strdup __strndup wcsdup", &[New(&[]), Reads(0), UsesLibrary]),
    ("mmap mmap64", &[Maps, Into(0), UsesLibrary]),
    ("mremap", &[New(&[2]), NewFrom(0), Is(0), Reads(0), UsesLibrary]),
    ("shmat", &[GivesExternal, UsesLibrary]),
    ("sbrk", &[GivesExternal, UsesLibrary]),
    ("__sched_cpualloc", &[New(&[]), UsesLibrary]),
    ("free cfree _ZdlPv _ZdaPv _ZdlPvm _ZdaPvm _ZdlPvRKSt9nothrow_t _ZdaPvRKSt9nothrow_t _ZdlPvSt11align_val_t \
      _ZdaPvSt11align_val_t _ZdlPvmSt11align_val_t _ZdaPvmSt11align_val_t _ZdlPvSt11align_val_tRKSt9nothrow_t \
      _ZdaPvSt11align_val_tRKSt9nothrow_t __cxa_free_exception __sched_cpufree freeaddrinfo freelocale \
      malloc_usable_size", &[]),
    ("munmap mprotect madvise posix_madvise msync mlock munlock mlockall munlockall shmdt shmget malloc_trim \
      mallopt brk", &[UsesLibrary]),

    // Memory.
    ("memcpy memmove __memcpy_chk __memmove_chk __memcpy_inline",
     &[Copies { to: 0, from: 1, bytes: Some(2) }, Is(0), Reads(1), Writes(0)]),
    ("mempcpy __mempcpy_chk", &[Copies { to: 0, from: 1, bytes: Some(2) }, Into(0), Reads(1), Writes(0)]),
    ("memccpy", &[Copies { to: 0, from: 1, bytes: None }, Into(0), Reads(1), Writes(0)]),
    ("wmemcpy wmemmove", &[Copies { to: 0, from: 1, bytes: None }, Is(0), Reads(1), Writes(0)]),
    ("wmempcpy", &[Copies { to: 0, from: 1, bytes: None }, Into(0), Reads(1), Writes(0)]),
    ("bcopy", &[Copies { to: 1, from: 0, bytes: Some(2) }, Reads(0), Writes(1)]),
    ("memset wmemset __memset_chk", &[Is(0), Writes(0)]),
    ("bzero explicit_bzero __explicit_bzero_chk", &[Writes(0)]),
    ("swab", &[Reads(0), Writes(1)]),
    ("memcmp bcmp wmemcmp", &[Reads(0), Reads(1)]),
    ("memchr memrchr rawmemchr __rawmemchr wmemchr", &[Into(0), Reads(0)]),
    ("memmem", &[Into(0), Reads(0), Reads(2)]),
    ("__atomic_load", &[Copies { to: 2, from: 1, bytes: Some(0) }, Reads(1), Writes(2)]),
    ("__atomic_store", &[Copies { to: 1, from: 2, bytes: Some(0) }, Reads(2), Writes(1)]),
    ("__atomic_exchange", &[Copies { to: 3, from: 1, bytes: Some(0) }, Copies { to: 1, from: 2, bytes: Some(0) },
      Reads(1), Reads(2), Writes(1), Writes(3)]),
    ("__atomic_compare_exchange", &[Copies { to: 2, from: 1, bytes: Some(0) },
      Copies { to: 1, from: 3, bytes: Some(0) }, Reads(1), Reads(2), Reads(3), Writes(1), Writes(2)]),

    // Strings.
    ("strlen strnlen wcslen wcsnlen wcswidth atoi atol atoll atof a64l mblen mbrlen mbsinit", &[Reads(0)]),
    ("strcmp strncmp strcasecmp strncasecmp strcoll strverscmp strcasecmp_l strncasecmp_l strcoll_l strspn strcspn \
      wcscmp wcsncmp wcscasecmp wcsncasecmp wcscoll wcsspn wcscspn fnmatch", &[Reads(0), Reads(1)]),
    ("strcpy strncpy strcat strncat __strcpy_chk __strncpy_chk __strcat_chk __strncat_chk wcscpy wcsncpy wcscat \
      wcsncat", &[Is(0), Reads(0), Reads(1), Writes(0)]),
    ("stpcpy stpncpy __stpcpy_chk __stpncpy_chk wcpcpy wcpncpy", &[Into(0), Reads(1), Writes(0)]),
    ("strlcpy strlcat strxfrm strxfrm_l wcsxfrm mbstowcs wcstombs mbtowc", &[Reads(0), Reads(1), Writes(0)]),
    ("mbrtowc wcrtomb", &[Reads(1), Writes(0), Writes(3), Writes(2), UsesLibrary]),
    ("wctomb", &[Writes(0)]),
    ("strchr strrchr strchrnul index rindex wcschr wcsrchr", &[Into(0), Reads(0)]),
    ("strstr strcasestr strpbrk wcsstr wcspbrk", &[Into(0), Reads(0), Reads(1)]),
    ("strtok", &[Keeps(Tokens, 0), GivesInto(Tokens), Uses(Tokens), Reads(1)]),
    ("strtok_r __strtok_r", &[Into(0), PutsInto(2, 0), IntoStored(2), Reads(1), Writes(0), Writes(2),
      WritesStored(2)]),
    ("strsep", &[IntoStored(0), Reads(0), Reads(1), Writes(0), WritesStored(0)]),
    ("strtol strtoul strtoll strtoull strtod strtof strtold strtoimax strtoumax strtoq strtouq strtol_l strtoul_l \
      strtoll_l strtoull_l strtod_l strtof_l strtold_l __isoc23_strtol __isoc23_strtoul __isoc23_strtoll \
      __isoc23_strtoull __isoc23_strtoimax __isoc23_strtoumax wcstol wcstoul wcstoll wcstoull wcstod wcstof wcstold",
     &[PutsInto(1, 0), Reads(0), Writes(1), UsesLibrary]),
    ("strerror strerror_l strsignal gai_strerror hstrerror strerrorname_np strerrordesc_np sigabbrev_np \
      sigdescr_np dlerror", &[GivesLibrary, UsesLibrary]),
    ("strerror_r", &[Is(1), GivesLibrary, Writes(1), UsesLibrary]),
    ("__xpg_strerror_r", &[Writes(1), UsesLibrary]),
    ("basename __xpg_basename dirname", &[Into(0), GivesLibrary, Reads(0), Writes(0)]),

    // Characters and numbers.
    ("isalnum isalpha isascii isblank iscntrl isdigit isgraph islower isprint ispunct isspace isupper isxdigit \
      toascii tolower toupper iswalnum iswalpha iswblank iswcntrl iswdigit iswgraph iswlower iswprint iswpunct \
      iswspace iswupper iswxdigit towlower towupper btowc wctob wcwidth abs labs llabs imaxabs div ldiv lldiv \
      imaxdiv ffs ffsl ffsll htonl htons ntohl ntohs", &[]),
    ("__ctype_b_loc __ctype_tolower_loc __ctype_toupper_loc __errno_location __h_errno_location", &[GivesLibrary]),
    ("__ctype_get_mb_cur_max", &[UsesLibrary]),
    ("acos acosf acosh acoshf acoshl acosl asin asinf asinh asinhf asinhl asinl atan atan2 atan2f atan2l atanf atanh \
      atanhf atanhl atanl cbrt cbrtf cbrtl ceil ceilf ceill copysign copysignf copysignl cos cosf cosh coshf coshl \
      cosl drem dremf erf erfc erfcf erfcl erff erfl exp exp10 exp10f exp10l exp2 exp2f exp2l expf expl expm1 \
      expm1f expm1l fabs fabsf fabsl fdim fdimf fdiml floor floorf floorl fma fmaf fmal fmax fmaxf fmaxl fmin \
      fminf fminl fmod fmodf fmodl hypot hypotf hypotl ilogb ilogbf ilogbl isinf isinff isinfl isnan isnanf isnanl \
      finite finitef finitel j0 j1 jn y0 y1 yn ldexp ldexpf ldexpl lgamma lgammaf lgammal llrint llrintf llrintl \
      llround llroundf llroundl log log10 log10f log10l log1p log1pf log1pl log2 log2f log2l logb logbf logbl logf \
      logl lrint lrintf lrintl lround lroundf lroundl nearbyint nearbyintf nearbyintl nextafter nextafterf \
      nextafterl nexttoward pow powf powl remainder remainderf remainderl rint rintf rintl round roundeven \
      roundevenf roundf roundl scalb scalbln scalblnf scalbn scalbnf scalbnl significand sin sinf sinh sinhf sinhl \
      sinl sqrt sqrtf sqrtl tan tanf tanh tanhf tanhl tanl tgamma tgammaf tgammal trunc truncf truncl \
      __fpclassify __fpclassifyf __fpclassifyl __signbit __signbitf __signbitl __isnan __isnanf __isinf __isinff \
      __finite __finitef feclearexcept feraiseexcept fetestexcept fegetround fesetround", &[UsesLibrary]),
    ("frexp frexpf frexpl modf modff modfl lgamma_r lgammaf_r lgammal_r", &[Writes(1), UsesLibrary]),
    ("remquo remquof remquol", &[Writes(2), UsesLibrary]),
    ("sincos sincosf sincosl", &[Writes(1), Writes(2), UsesLibrary]),
    ("nan nanf nanl", &[Reads(0)]),
    ("rand random srand srandom drand48 lrand48 mrand48 srand48 arc4random arc4random_uniform", &[UsesLibrary]),
    ("rand_r erand48 nrand48 jrand48", &[Writes(0)]),
    ("getrandom getentropy arc4random_buf", &[Writes(0), UsesLibrary]),
    ("__divti3 __udivti3 __modti3 __umodti3 __multi3 __muloti4 __powidf2 __powisf2 __divdc3 __muldc3 __divsc3 \
      __mulsc3 __popcountdi2 __popcountsi2 __clzdi2 __ctzdi2 __stack_chk_fail __cpu_indicator_init", &[]),

    // Time.
    ("time", &[Writes(0)]),
    ("clock difftime sched_yield pthread_yield thrd_yield", &[]),
    ("clock_gettime clock_getres", &[Writes(1), UsesLibrary]),
    ("clock_settime", &[Reads(1), UsesLibrary]),
    ("gettimeofday", &[Writes(0), Writes(1), UsesLibrary]),
    ("timespec_get timespec_getres times ftime", &[Writes(0), UsesLibrary]),
    ("nanosleep thrd_sleep", &[Reads(0), Writes(1), UsesLibrary]),
    ("clock_nanosleep", &[Reads(2), Writes(3), UsesLibrary]),
    ("sleep usleep alarm ualarm tzset pause", &[UsesLibrary]),
    ("localtime gmtime asctime ctime", &[GivesLibrary, Reads(0), UsesLibrary]),
    ("localtime_r gmtime_r", &[Is(1), PutsLibrary(1), Reads(0), Writes(1), UsesLibrary]),
    ("asctime_r ctime_r", &[Is(1), Reads(0), Writes(1), UsesLibrary]),
    ("mktime timegm timelocal", &[PutsLibrary(0), Reads(0), Writes(0), UsesLibrary]),
    ("strftime wcsftime", &[Reads(2), Reads(3), ReadsStored(3), Writes(0), UsesLibrary]),
    ("strptime", &[Into(0), PutsLibrary(2), Reads(0), Reads(1), Writes(2), UsesLibrary]),
    ("getitimer", &[Writes(1), UsesLibrary]),
    ("setitimer", &[Reads(1), Writes(2), UsesLibrary]),

    // The process and its surroundings.
    ("getenv secure_getenv", &[GivesEnvironment, Gives(Slot::Environment), Reads(0), ReadsEnvironment]),
    ("setenv", &[Reads(0), Reads(1), WritesEnvironment, UsesLibrary]),
    ("unsetenv", &[Reads(0), WritesEnvironment, UsesLibrary]),
    ("clearenv", &[WritesEnvironment, UsesLibrary]),
    ("putenv", &[Keeps(Slot::Environment, 0), WritesEnvironment, UsesLibrary]),
    ("getpid getppid getuid geteuid getgid getegid gettid getpgrp getsid getpagesize get_nprocs get_nprocs_conf \
      sched_getcpu __libc_current_sigrtmin __libc_current_sigrtmax abort __chk_fail __fortify_fail", &[]),
    ("sysconf pathconf fpathconf getpriority setpriority nice setuid setgid seteuid setegid setsid setpgid getpgid \
      umask fork vfork sched_get_priority_max sched_get_priority_min sched_getscheduler kill killpg raise \
      getauxval getdtablesize sync daemon", &[UsesLibrary]),
    ("getrusage getrlimit getrlimit64 getcpu", &[Writes(1), Writes(0), UsesLibrary]),
    ("setrlimit setrlimit64", &[Reads(1), UsesLibrary]),
    ("sysinfo uname getloadavg gethostname getdomainname", &[Writes(0), UsesLibrary]),
    ("sched_getaffinity pthread_getaffinity_np", &[Writes(2), UsesLibrary]),
    ("sched_setaffinity pthread_setaffinity_np", &[Reads(2), UsesLibrary]),
    ("sched_getparam", &[Writes(1), UsesLibrary]),
    ("sched_setscheduler", &[Reads(2), UsesLibrary]),
    ("sched_setparam", &[Reads(1), UsesLibrary]),
    ("__sched_cpucount", &[Reads(1)]),
    ("wait", &[Writes(0), UsesLibrary]),
    ("waitpid", &[Writes(1), UsesLibrary]),
    ("wait4", &[Writes(1), Writes(3), UsesLibrary]),
    ("system", &[Reads(0), UsesLibrary]),
    ("execl execlp execle", &[ReadsFrom(0), UsesLibrary]),
    ("execv execvp execve execvpe", &[Reads(0), ReadsDeep(1), ReadsDeep(2), UsesLibrary]),
    ("getpwnam getpwuid getgrnam getgrgid getlogin ttyname ctermid getpwent getgrent", &[GivesLibrary, Reads(0), UsesLibrary]),
    ("setlocale", &[GivesLibrary, Reads(1), UsesLibrary]),
    ("localeconv nl_langinfo", &[GivesLibrary, UsesLibrary]),
    ("newlocale duplocale uselocale", &[GivesLibrary, Is(0), Reads(1), UsesLibrary]),
    ("gettext", &[Is(0), GivesLibrary, Reads(0), UsesLibrary]),
    ("dgettext dcgettext", &[Is(1), GivesLibrary, Reads(0), Reads(1), UsesLibrary]),
    ("ngettext", &[Is(0), Is(1), GivesLibrary, Reads(0), Reads(1), UsesLibrary]),
    ("dngettext dcngettext", &[Is(1), Is(2), GivesLibrary, Reads(0), Reads(1), Reads(2), UsesLibrary]),
    ("textdomain bindtextdomain bind_textdomain_codeset", &[GivesLibrary, Reads(0), Reads(1), UsesLibrary]),
    ("__assert_fail __assert __assert_perror_fail", &[Reads(0), Reads(1), Reads(2), Reads(3)]),
    ("openlog", &[Escapes(0), UsesLibrary]),
    ("closelog", &[UsesLibrary]),

    // Output.
    ("printf wprintf", &[Prints(0), UsesLibrary]),
    ("fprintf dprintf __printf_chk fwprintf syslog", &[Prints(1), UsesLibrary]),
    ("__fprintf_chk __dprintf_chk __syslog_chk", &[Prints(2), UsesLibrary]),
    ("sprintf", &[Prints(1), Writes(0)]),
    ("snprintf swprintf", &[Prints(2), Writes(0)]),
    ("__sprintf_chk", &[Prints(3), Writes(0)]),
    ("__snprintf_chk", &[Prints(4), Writes(0)]),
    ("asprintf", &[NewAt(0, None), Prints(1), Writes(0), UsesLibrary]),
    ("__asprintf_chk", &[NewAt(0, None), Prints(2), Writes(0), UsesLibrary]),
    ("vprintf", &[Reads(0), ReadsDeep(1), Writes(1), UsesLibrary]),
    ("vfprintf vdprintf __vprintf_chk vsyslog", &[Reads(1), ReadsDeep(2), Writes(2), UsesLibrary]),
    ("__vfprintf_chk __vdprintf_chk __vsyslog_chk", &[Reads(2), ReadsDeep(3), Writes(3), UsesLibrary]),
    ("vsprintf", &[Reads(1), ReadsDeep(2), Writes(0), Writes(2)]),
    ("vsnprintf vswprintf", &[Reads(2), ReadsDeep(3), Writes(0), Writes(3)]),
    ("__vsprintf_chk", &[Reads(3), ReadsDeep(4), Writes(0), Writes(4)]),
    ("__vsnprintf_chk", &[Reads(4), ReadsDeep(5), Writes(0), Writes(5)]),
    ("vasprintf", &[NewAt(0, None), Reads(1), ReadsDeep(2), Writes(0), Writes(2), UsesLibrary]),
    ("__vasprintf_chk", &[NewAt(0, None), Reads(2), ReadsDeep(3), Writes(0), Writes(3), UsesLibrary]),
    ("warn warnx", &[Prints(0), UsesLibrary]),
    ("err errx", &[Prints(1), UsesLibrary]),
    ("error", &[Prints(2), UsesLibrary]),
    ("puts perror fputs fputs_unlocked psignal", &[Reads(0), UsesLibrary]),
    ("putc fputc putchar putc_unlocked fputc_unlocked putchar_unlocked _IO_putc putw fputwc putwc putwchar ungetc \
      ungetwc __overflow fflush fflush_unlocked fclose fcloseall fseek fseeko fseeko64 ftell ftello ftello64 rewind \
      feof ferror clearerr feof_unlocked ferror_unlocked clearerr_unlocked fileno fileno_unlocked setlinebuf fwide \
      flockfile funlockfile ftrylockfile pclose __fpending __fpurge __fsetlocking __freading __fwriting",
     &[UsesLibrary, Uses(Buffers)]),
    ("fwrite fwrite_unlocked", &[Sends(0, &[1, 2]), Reads(0), UsesLibrary, Uses(Buffers)]),
    ("setvbuf setbuf setbuffer", &[Keeps(Buffers, 1), UsesLibrary]),

    // Input.
    ("scanf __isoc99_scanf __isoc23_scanf", &[Scans(0), UsesLibrary]),
    ("fscanf __isoc99_fscanf __isoc23_fscanf", &[Scans(1), UsesLibrary]),
    ("sscanf __isoc99_sscanf __isoc23_sscanf", &[Reads(0), Scans(1), UsesLibrary]),
    ("vsscanf __isoc99_vsscanf __isoc23_vsscanf vfscanf __isoc99_vfscanf __isoc23_vfscanf vscanf __isoc99_vscanf \
      __isoc23_vscanf", &[Confined, UsesLibrary]),
    ("getc fgetc getchar getc_unlocked fgetc_unlocked getchar_unlocked _IO_getc getw fgetwc getwc getwchar __uflow",
     &[UsesLibrary, Uses(Buffers)]),
    ("gets fgets fgets_unlocked __fgets_chk __fgets_unlocked_chk __gets_chk fgetws",
     &[Is(0), Writes(0), UsesLibrary, Uses(Buffers)]),
    ("getline getdelim __getdelim", &[NewAt(0, None), Reads(0), Writes(0), Writes(1), WritesStored(0), UsesLibrary]),
    ("fread fread_unlocked __fread_unlocked_chk", &[Receives(0), Writes(0), UsesLibrary, Uses(Buffers)]),
    ("__fread_chk", &[Receives(0), Writes(0), UsesLibrary, Uses(Buffers)]),
    ("fopen fopen64 fdopen freopen freopen64 popen", &[GivesLibrary, Reads(0), Reads(1), UsesLibrary]),
    ("tmpfile tmpfile64", &[GivesLibrary, UsesLibrary]),
    ("fmemopen", &[GivesLibrary, Keeps(Buffers, 0), Sends(0, &[]), Receives(0), Reads(0), Writes(0), Reads(2),
      UsesLibrary]),
    ("open_memstream", &[GivesLibrary, NewAt(0, None), Keeps(Buffers, 0), Keeps(Buffers, 1), Writes(0), Writes(1),
      UsesLibrary]),
    ("fgetpos fgetpos64", &[Writes(1), UsesLibrary]),
    ("fsetpos fsetpos64", &[Reads(1), UsesLibrary]),

    // Files and sockets.
    ("read __read_chk pread pread64 __pread_chk __pread64_chk recv __recv_chk mq_receive",
     &[Receives(1), Writes(1), UsesLibrary]),
    ("write pwrite pwrite64 send mq_send", &[Sends(1, &[2]), Reads(1), UsesLibrary]),
    ("readv preadv preadv64", &[ReceivesStored(1), Reads(1), WritesStored(1), UsesLibrary]),
    ("writev pwritev pwritev64", &[Reads(1), ReadsStored(1), UsesLibrary]),
    ("recvfrom __recvfrom_chk", &[Receives(1), Writes(1), Writes(4), Writes(5), UsesLibrary]),
    ("sendto", &[Sends(1, &[2]), Reads(1), Reads(4), UsesLibrary]),
    ("open open64 creat creat64 unlink rmdir mkdir chdir chmod chown lchown access euidaccess eaccess truncate \
      truncate64 remove mkfifo chroot shm_open shm_unlink sem_unlink mq_open mq_unlink __open_2 __open64_2",
     &[Reads(0), UsesLibrary]),
    ("openat openat64 unlinkat mkdirat faccessat fchmodat fchownat mkfifoat __openat_2 __openat64_2",
     &[Reads(1), UsesLibrary]),
    ("rename link symlink", &[Reads(0), Reads(1), UsesLibrary]),
    ("renameat linkat symlinkat", &[Reads(1), Reads(2), Reads(3), UsesLibrary]),
    ("close lseek lseek64 dup dup2 dup3 fsync fdatasync ftruncate ftruncate64 fchmod fchown fchdir isatty flock \
      lockf posix_fadvise posix_fadvise64 posix_fallocate posix_fallocate64 fallocate fallocate64 socket listen \
      shutdown eventfd timerfd_create epoll_create epoll_create1 inotify_init inotify_init1 closedir rewinddir dirfd \
      memfd_create syncfs readahead",
     &[UsesLibrary]),
    ("stat stat64 lstat lstat64 statfs statfs64 statvfs statvfs64", &[Reads(0), Writes(1), UsesLibrary]),
    ("fstat fstat64 fstatfs fstatfs64 fstatvfs fstatvfs64", &[Writes(1), UsesLibrary]),
    ("fstatat fstatat64 __xstat __xstat64 __lxstat __lxstat64", &[Reads(1), Writes(2), UsesLibrary]),
    ("__fxstat __fxstat64", &[Writes(2), UsesLibrary]),
    ("utime utimes lutimes", &[Reads(0), Reads(1), UsesLibrary]),
    ("futimens futimes", &[Reads(1), UsesLibrary]),
    ("utimensat futimesat", &[Reads(1), Reads(2), UsesLibrary]),
    ("readlink", &[Reads(0), Writes(1), UsesLibrary]),
    ("readlinkat", &[Reads(1), Writes(2), UsesLibrary]),
    ("realpath canonicalize_file_name __realpath_chk", &[New(&[]), Is(1), Reads(0), Writes(1), UsesLibrary]),
    ("getcwd __getcwd_chk getwd", &[New(&[]), Is(0), Writes(0), UsesLibrary]),
    ("get_current_dir_name", &[New(&[]), UsesLibrary]),
    ("mkstemp mkstemp64 mkstemps mkostemp mkostemps", &[Reads(0), Writes(0), UsesLibrary]),
    ("mkdtemp mktemp", &[Is(0), Reads(0), Writes(0), UsesLibrary]),
    ("tmpnam", &[Is(0), GivesLibrary, Writes(0), UsesLibrary]),
    ("tempnam", &[New(&[]), Reads(0), Reads(1), UsesLibrary]),
    ("opendir", &[GivesLibrary, Reads(0), UsesLibrary]),
    ("readdir readdir64 fdopendir", &[GivesLibrary, UsesLibrary]),
    ("fcntl fcntl64", &[Reads(2), Writes(2), UsesLibrary]),
    ("pipe pipe2", &[Writes(0), UsesLibrary]),
    ("poll ppoll __poll_chk", &[Reads(0), Writes(0), Reads(2), Reads(3), UsesLibrary]),
    ("select pselect", &[Writes(1), Writes(2), Writes(3), Writes(4), Reads(1), Reads(2), Reads(3), Reads(4),
      Reads(5), UsesLibrary]),
    ("epoll_ctl", &[Sends(3, &[]), Reads(3), UsesLibrary]),
    ("epoll_wait epoll_pwait", &[Receives(1), Writes(1), UsesLibrary]),
    ("eventfd_read", &[Writes(1), UsesLibrary]),
    ("eventfd_write", &[UsesLibrary]),
    ("timerfd_settime", &[Reads(2), Writes(3), UsesLibrary]),
    ("timerfd_gettime", &[Writes(1), UsesLibrary]),
    ("bind connect", &[Reads(1), UsesLibrary]),
    ("accept accept4 getsockname getpeername", &[Writes(1), Writes(2), Reads(2), UsesLibrary]),
    ("getsockopt", &[Writes(3), Writes(4), UsesLibrary]),
    ("setsockopt", &[Reads(3), UsesLibrary]),
    ("socketpair", &[Writes(3), UsesLibrary]),
    ("getaddrinfo", &[PutsLibrary(3), Reads(0), Reads(1), Reads(2), Writes(3), UsesLibrary]),
    ("getnameinfo", &[Reads(0), Writes(2), Writes(4), UsesLibrary]),
    ("gethostbyname gethostbyname2 getservbyname getprotobyname inet_ntoa if_indextoname",
     &[GivesLibrary, Reads(0), Reads(1), UsesLibrary]),
    ("inet_ntop", &[Is(2), Reads(1), Writes(2), UsesLibrary]),
    ("inet_pton", &[Reads(1), Writes(2), UsesLibrary]),
    ("inet_aton", &[Reads(0), Writes(1), UsesLibrary]),
    ("inet_addr if_nametoindex", &[Reads(0), UsesLibrary]),
    ("tcgetattr", &[Writes(1), UsesLibrary]),
    ("tcsetattr", &[Reads(2), UsesLibrary]),

    // Callbacks.
    ("qsort", &[Calls(3, &[Given::Into(0), Given::Into(0)], Now), Sorts(0), Reads(0), Writes(0)]),
    ("qsort_r", &[Calls(3, &[Given::Into(0), Given::Into(0), Argument(4)], Now), Sorts(0), Reads(0), Writes(0)]),
    ("bsearch", &[Calls(4, &[Argument(0), Given::Into(1)], Now), Into(1), Reads(0), Reads(1)]),
    ("lfind", &[Calls(4, &[Argument(0), Given::Into(1)], Now), Into(1), Reads(0), Reads(1), Reads(2)]),
    ("atexit at_quick_exit", &[Calls(0, &[], Later)]),
    ("on_exit", &[Calls(0, &[Nothing, Argument(1)], Later)]),
    ("__cxa_atexit __cxa_thread_atexit __cxa_thread_atexit_impl", &[Calls(0, &[Argument(1)], Later)]),
    ("__cxa_at_quick_exit", &[Calls(0, &[], Later)]),
    ("pthread_atfork", &[Calls(0, &[], Later), Calls(1, &[], Later), Calls(2, &[], Later)]),
    ("__register_atfork", &[Calls(0, &[], Later), Calls(1, &[], Later), Calls(2, &[], Later)]),
    ("signal bsd_signal sysv_signal __sysv_signal sigset",
     &[Calls(1, &[Nothing], Later), Keeps(Handlers, 1), Gives(Handlers), UsesLibrary]),
    ("sigaction", &[CallsStored(1, &[Nothing, Given::External, Given::External], Later), GivesAt(Handlers, 2),
      Reads(1), Writes(2), UsesLibrary]),

    // Signals and jumps.
    ("sigemptyset sigfillset sigaddset sigdelset sigpending", &[Writes(0), UsesLibrary]),
    ("sigismember", &[Reads(0), UsesLibrary]),
    ("sigprocmask pthread_sigmask", &[Reads(1), Writes(2), UsesLibrary]),
    ("sigwait sigsuspend", &[Reads(0), Writes(1), UsesLibrary]),
    ("setjmp _setjmp sigsetjmp __sigsetjmp", &[Writes(0)]),
    ("longjmp _longjmp siglongjmp __longjmp_chk", &[Reads(0)]),

    // Threads.
    ("pthread_create", &[Calls(2, &[Argument(3)], Thread), Reads(1), Writes(0)]),
    ("thrd_create", &[Calls(1, &[Argument(2)], Thread), Writes(0)]),
    ("_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE",
     &[StartsState(1), Reads(1), Writes(0), Writes(1)]),
    ("pthread_join pthread_tryjoin_np", &[GivesAt(Exits, 1), Writes(1)]),
    ("pthread_timedjoin_np", &[GivesAt(Exits, 1), Writes(1), Reads(2)]),
    ("pthread_clockjoin_np", &[GivesAt(Exits, 1), Writes(1), Reads(3)]),
    ("thrd_join", &[Writes(1)]),
    ("pthread_exit", &[Keeps(Exits, 0)]),
    ("pthread_detach pthread_kill pthread_cancel thrd_detach thrd_exit exit _exit _Exit quick_exit pthread_self \
      pthread_equal thrd_current thrd_equal pthread_testcancel pthread_key_delete tss_delete pthread_setconcurrency \
      pthread_getconcurrency pthread_setschedprio", &[]),
    ("_ZNSt6thread4joinEv _ZNSt6thread6detachEv", &[Reads(0), Writes(0)]),
    ("_ZNSt6thread20hardware_concurrencyEv _ZNSt6thread6_StateD0Ev _ZNSt6thread6_StateD1Ev \
      _ZNSt6thread6_StateD2Ev", &[]),
    ("pthread_once call_once", &[Calls(1, &[], Now), Reads(0), Writes(0)]),
    ("pthread_key_create __pthread_key_create tss_create", &[Calls(1, &[Kept(Keys)], Later), Writes(0)]),
    ("pthread_setspecific tss_set", &[Keeps(Keys, 1)]),
    ("pthread_getspecific tss_get", &[Gives(Keys)]),
    ("_pthread_cleanup_push", &[Calls(1, &[Argument(2)], Later), Writes(0)]),
    ("_pthread_cleanup_pop __pthread_register_cancel __pthread_unregister_cancel __pthread_unwind_next",
     &[Reads(0), Writes(0)]),
    ("pthread_mutex_init pthread_cond_init pthread_barrier_init pthread_rwlock_init",
     &[Reads(1), Writes(0)]),
    ("pthread_mutex_destroy pthread_mutex_lock pthread_mutex_trylock pthread_mutex_unlock pthread_mutex_consistent \
      pthread_cond_destroy pthread_cond_signal pthread_cond_broadcast pthread_barrier_destroy pthread_barrier_wait \
      pthread_rwlock_destroy pthread_rwlock_rdlock pthread_rwlock_tryrdlock pthread_rwlock_wrlock \
      pthread_rwlock_trywrlock pthread_rwlock_unlock pthread_spin_init pthread_spin_destroy pthread_spin_lock \
      pthread_spin_trylock pthread_spin_unlock mtx_init mtx_destroy mtx_lock mtx_trylock mtx_unlock cnd_init \
      cnd_destroy cnd_signal cnd_broadcast _ZNSt18condition_variableC1Ev _ZNSt18condition_variableD1Ev \
      _ZNSt18condition_variable10notify_oneEv _ZNSt18condition_variable10notify_allEv", &[Reads(0), Writes(0)]),
    ("pthread_mutex_timedlock pthread_rwlock_timedrdlock pthread_rwlock_timedwrlock mtx_timedlock",
     &[Reads(0), Reads(1), Writes(0)]),
    ("pthread_mutex_clocklock pthread_rwlock_clockrdlock pthread_rwlock_clockwrlock", &[Reads(0), Reads(2), Writes(0)]),
    ("pthread_cond_wait cnd_wait", &[Reads(0), Reads(1), Writes(0), Writes(1)]),
    ("pthread_cond_timedwait cnd_timedwait", &[Reads(0), Reads(1), Reads(2), Writes(0), Writes(1)]),
    ("pthread_cond_clockwait", &[Reads(0), Reads(1), Reads(3), Writes(0), Writes(1)]),
    ("_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE",
     &[Reads(0), Reads(1), ReadsStored(1), Writes(0), Writes(1), WritesStored(1)]),
    ("sem_init sem_destroy sem_close sem_wait sem_trywait sem_post", &[Reads(0), Writes(0), UsesLibrary]),
    ("sem_timedwait", &[Reads(0), Reads(1), Writes(0), UsesLibrary]),
    ("sem_clockwait", &[Reads(0), Reads(2), Writes(0), UsesLibrary]),
    ("sem_getvalue", &[Reads(0), Writes(1), UsesLibrary]),
    ("sem_open", &[GivesLibrary, Reads(0), UsesLibrary]),
    ("pthread_attr_init pthread_attr_destroy pthread_attr_setdetachstate pthread_attr_setguardsize \
      pthread_attr_setinheritsched pthread_attr_setschedpolicy pthread_attr_setscope pthread_attr_setstacksize \
      pthread_mutexattr_init pthread_mutexattr_destroy pthread_mutexattr_settype pthread_mutexattr_setkind_np \
      pthread_mutexattr_setpshared pthread_mutexattr_setrobust pthread_mutexattr_setprotocol \
      pthread_mutexattr_setprioceiling pthread_condattr_init pthread_condattr_destroy pthread_condattr_setclock \
      pthread_condattr_setpshared pthread_rwlockattr_init pthread_rwlockattr_destroy pthread_rwlockattr_setkind_np \
      pthread_rwlockattr_setpshared pthread_barrierattr_init pthread_barrierattr_destroy \
      pthread_barrierattr_setpshared", &[Reads(0), Writes(0)]),
    ("pthread_attr_getdetachstate pthread_attr_getguardsize pthread_attr_getinheritsched pthread_attr_getschedparam \
      pthread_attr_getschedpolicy pthread_attr_getscope pthread_attr_getstacksize pthread_mutexattr_gettype \
      pthread_mutexattr_getpshared pthread_condattr_getclock pthread_condattr_getpshared", &[Reads(0), Writes(1)]),
    ("pthread_attr_setschedparam", &[Reads(1), Writes(0)]),
    ("pthread_attr_setaffinity_np", &[Reads(2), Writes(0)]),
    ("pthread_attr_setstack pthread_attr_setstackaddr", &[Escapes(1), Writes(0)]),
    ("pthread_setname_np", &[Reads(1)]),
    ("pthread_getname_np pthread_getcpuclockid pthread_getattr_np", &[Writes(1)]),
    ("pthread_setcancelstate pthread_setcanceltype", &[Writes(1)]),
    ("pthread_getschedparam", &[Writes(1), Writes(2)]),
    ("pthread_setschedparam", &[Reads(2)]),

    // C++.
    ("__cxa_throw", &[Escapes(0), Escapes(2), UsesLibrary]),
    ("__cxa_rethrow __cxa_bad_cast __cxa_bad_typeid __cxa_throw_bad_array_length __cxa_throw_bad_array_new_length \
      __cxa_pure_virtual __cxa_deleted_virtual __cxa_uncaught_exception __cxa_uncaught_exceptions", &[UsesLibrary]),
    ("__cxa_begin_catch __cxa_get_exception_ptr __cxa_current_exception_type", &[GivesExternal, UsesLibrary]),
    ("__cxa_guard_acquire __cxa_guard_release __cxa_guard_abort", &[Reads(0), Writes(0)]),
    ("__dynamic_cast", &[Into(0), Reads(0)]),
    ("_ZSt11_Hash_bytesPKvmm _ZSt15_Fnv_hash_bytesPKvmm", &[Reads(0)]),
    ("_ZNSt8ios_base4InitC1Ev _ZNSt8ios_base4InitD1Ev", &[UsesLibrary]),
    ("_ZSt4endlIcSt11char_traitsIcEERSt13basic_ostreamIT_T0_ES6_ \
      _ZSt5flushIcSt11char_traitsIcEERSt13basic_ostreamIT_T0_ES6_", &[Is(0), Writes(0), UsesLibrary]),
    ("_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKc \
      _ZSt16__ostream_insertIcSt11char_traitsIcEERSt13basic_ostreamIT_T0_ES6_PKS3_l",
     &[Is(0), Reads(1), Writes(0), UsesLibrary]),
    ("_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_c", &[Is(0), Writes(0), UsesLibrary]),
    ("_ZNSt6chrono3_V212steady_clock3nowEv _ZNSt6chrono3_V212system_clock3nowEv", &[UsesLibrary]),
];

/// Functions of libstdc++ by the beginning of their names.
#[rustfmt::skip]
pub const BEGINNINGS: &[Row] = &[
    // Claims and other checks that specialization puts into a program.
    ("covsched_claim", &[]),
    // Numbers to streams.
    ("_ZNSolsE _ZNSo9_M_insertI _ZNSo3put _ZNSo5flush", &[Is(0), Writes(0), UsesLibrary]),
    ("_ZNSo5write", &[Is(0), Reads(1), Writes(0), UsesLibrary]),
    ("_ZSt16__throw_ _ZSt17__throw_ _ZSt18__throw_ _ZSt19__throw_ _ZSt20__throw_ _ZSt21__throw_ _ZSt22__throw_ \
      _ZSt23__throw_ _ZSt24__throw_ _ZSt25__throw_ _ZSt26__throw_ _ZSt27__throw_ _ZSt28__throw_",
     &[ReadsFrom(0), UsesLibrary]),
    // Strings, and the nodes of lists and trees.
    ("_ZNSt7__cxx1112basic_string _ZNKSt7__cxx1112basic_string _ZNSs _ZNKSs _ZSt18_Rb_tree _ZSt20_Rb_tree \
      _ZSt28_Rb_tree _ZSt29_Rb_tree _ZNSt8__detail15_List_node_base _ZNKSt8__detail20_Prime_rehash_policy",
     &[Confined, UsesLibrary]),
];

/// Functions of LLVM's, without `llvm.` and types.
#[rustfmt::skip]
pub const INTRINSICS: &[Row] = &[
    ("memcpy memmove", &[Copies { to: 0, from: 1, bytes: Some(2) }, Reads(1), Writes(0)]),
    ("memset", &[Writes(0)]),
    ("va_start", &[ListsArguments(0), Writes(0)]),
    ("va_copy", &[Copies { to: 0, from: 1, bytes: None }, Reads(1), Writes(0)]),
    ("lifetime. invariant. assume donothing sideeffect experimental.noalias.scope.decl dbg. pseudoprobe prefetch trap \
      debugtrap ubsantrap var.annotation va_end stacksave stackrestore eh.typeid.for codeview.annotation \
      readcyclecounter get.rounding set.rounding flt.rounds is.constant objectsize instrprof. type.test \
      clear_cache", &[]),
    ("threadlocal.address launder.invariant.group strip.invariant.group expect ptr.annotation annotation ssa.copy \
      preserve.", &[Is(0)]),
    ("ptrmask", &[Into(0)]),
    ("frameaddress returnaddress addressofreturnaddress localaddress sponentry thread.pointer read_register \
      read_volatile_register", &[GivesExternal]),
    ("masked. vp. x86. aarch64. vector. matrix. experimental.vector.", &[Confined]),
];
