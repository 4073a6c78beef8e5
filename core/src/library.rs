//! Library calls that never synchronize, so that calls of them are not derived synchronizations.
//!
//! "Never" means: the call does not come to a synchronization of the program's own, since it calls no function of
//! the program. What takes a callback and runs it (`qsort`, `bsearch`, `twalk`, `nftw`, `scandir`, `dlopen` with its
//! constructors, `raise` with its handlers) is not here. Three kinds are here although a program can make them call
//! its code, because they stand in the cold paths of all C++: `std::terminate` with its handler, the end of a `catch`
//! with the exception's destructor, and streams with a buffer class of the program's own. A synchronization in
//! there is recorded like any other; only its caller is not shown.
//!
//! Plain names and a list of prefixes, both sorted by bytes. Locks inside the library (malloc's, stdio's) are not the
//! program's synchronizations.

mod blocking;

pub use blocking::{is_known, never_blocks, runs_callback};

/// Whether this function does not return, but goes to where `setjmp` was called.
pub fn jumps_away(linkage_name: &str) -> bool {
    const JUMPS: [&str; 6] =
        ["longjmp", "_longjmp", "siglongjmp", "__longjmp_chk", "__libc_longjmp", "__libc_siglongjmp"];
    JUMPS.contains(&linkage_name)
}

/// Whether a call of this function never comes to a synchronization of the program's own.
pub fn never_synchronizes(linkage_name: &str) -> bool {
    NAMES.binary_search(&linkage_name).is_ok() || begins_with(linkage_name, PREFIXES)
}

/// Whether this function, given another function's address, does not make it a thread's: it runs it in a thread
/// that exists, or not at all.
pub fn keeps_callback_in_thread(linkage_name: &str) -> bool {
    CALLBACK_IN_THREAD.binary_search(&linkage_name).is_ok()
}

/// Whether a call of this function may make its thread wait for something outside of the program: input, output, time,
/// another process. Only calls of the system and what stands right above them: others do so by calling these.
/// Output is among them, since a pipe may be full. What waits for another thread of the program is in the hook table, but
/// for the guard of a local static and the futures of libstdc++, which wait without a hook.
pub fn may_block(linkage_name: &str) -> bool {
    BLOCKING.binary_search(&linkage_name).is_ok() || begins_with(linkage_name, BLOCKING_PREFIXES)
}

/// No prefix is a prefix of another, so only the last one that is not greater can match.
fn begins_with(linkage_name: &str, prefixes: &[&str]) -> bool {
    let after = prefixes.partition_point(|&prefix| prefix <= linkage_name);
    after > 0 && linkage_name.starts_with(prefixes[after - 1])
}

/// Functions of libc, libm, libstdc++ and the compiler's own runtime.
#[rustfmt::skip]
const NAMES: &[&str] = &[
    "_IO_getc", "_IO_putc", "_Unwind_DeleteException", "_Unwind_FindEnclosingFunction", "_Unwind_GetCFA",
    "_Unwind_GetDataRelBase", "_Unwind_GetGR", "_Unwind_GetIP", "_Unwind_GetIPInfo",
    "_Unwind_GetLanguageSpecificData", "_Unwind_GetRegionStart", "_Unwind_GetTextRelBase",
    "_Unwind_RaiseException", "_Unwind_Resume", "_Unwind_Resume_or_Rethrow", "_Unwind_SetGR", "_Unwind_SetIP",
    "_ZNSt11regex_errorC1ENSt15regex_constants10error_typeE", "_ZNSt11regex_errorD1Ev",
    "_ZNSt6thread20hardware_concurrencyEv", "_ZNSt6thread6_StateD0Ev", "_ZNSt6thread6_StateD1Ev",
    "_ZNSt6thread6_StateD2Ev", "_ZdaPv", "_ZdaPvRKSt9nothrow_t", "_ZdaPvSt11align_val_t",
    "_ZdaPvSt11align_val_tRKSt9nothrow_t", "_ZdaPvm", "_ZdaPvmSt11align_val_t", "_ZdlPv",
    "_ZdlPvRKSt9nothrow_t", "_ZdlPvSt11align_val_t", "_ZdlPvSt11align_val_tRKSt9nothrow_t", "_ZdlPvm",
    "_ZdlPvmSt11align_val_t", "_Znam", "_ZnamRKSt9nothrow_t", "_ZnamSt11align_val_t",
    "_ZnamSt11align_val_tRKSt9nothrow_t", "_Znwm", "_ZnwmRKSt9nothrow_t", "_ZnwmSt11align_val_t",
    "_ZnwmSt11align_val_tRKSt9nothrow_t", "__absvdi2", "__absvsi2", "__absvti2", "__acos_finite",
    "__acosf_finite", "__acosh_finite", "__acoshf_finite", "__acoshl_finite", "__acosl_finite", "__addtf3",
    "__addvdi3", "__addvsi3", "__addvti3", "__ashldi3", "__ashlti3", "__ashrdi3", "__ashrti3",
    "__asin_finite", "__asinf_finite", "__asinl_finite", "__asprintf_chk", "__assert", "__assert_fail",
    "__assert_perror_fail", "__atan2_finite", "__atan2f_finite", "__atan2l_finite", "__atanh_finite",
    "__atanhf_finite", "__atanhl_finite", "__chk_fail", "__clang_call_terminate", "__clear_cache", "__clzdi2",
    "__clzsi2", "__clzti2", "__cmpdi2", "__cmpti2", "__cosh_finite", "__coshf_finite", "__coshl_finite",
    "__cpu_indicator_init", "__cpu_model", "__ctype_b_loc", "__ctype_get_mb_cur_max", "__ctype_init",
    "__ctype_tolower_loc", "__ctype_toupper_loc", "__ctzdi2", "__ctzsi2", "__ctzti2",
    "__cxa_allocate_exception", "__cxa_at_quick_exit", "__cxa_atexit", "__cxa_bad_cast", "__cxa_bad_typeid",
    "__cxa_begin_catch", "__cxa_call_terminate", "__cxa_call_unexpected", "__cxa_current_exception_type",
    "__cxa_current_primary_exception", "__cxa_decrement_exception_refcount", "__cxa_deleted_virtual",
    "__cxa_demangle", "__cxa_end_catch", "__cxa_finalize", "__cxa_free_exception", "__cxa_get_exception_ptr",
    "__cxa_get_globals", "__cxa_get_globals_fast", "__cxa_guard_abort", "__cxa_guard_acquire",
    "__cxa_guard_release", "__cxa_increment_exception_refcount", "__cxa_init_primary_exception",
    "__cxa_pure_virtual", "__cxa_rethrow", "__cxa_rethrow_primary_exception", "__cxa_thread_atexit",
    "__cxa_thread_atexit_impl", "__cxa_throw", "__cxa_throw_bad_array_length",
    "__cxa_throw_bad_array_new_length", "__cxa_uncaught_exception", "__cxa_uncaught_exceptions", "__divdc3",
    "__divdi3", "__divmodti4", "__divsc3", "__divsi3", "__divtc3", "__divtf3", "__divti3", "__divxc3",
    "__dprintf_chk", "__dynamic_cast", "__emutls_get_address", "__eqtf2", "__errno_location",
    "__exp10_finite", "__exp10f_finite", "__exp10l_finite", "__exp2_finite", "__exp2f_finite",
    "__exp2l_finite", "__exp_finite", "__expf_finite", "__expl_finite", "__explicit_bzero_chk",
    "__extenddftf2", "__extendhfsf2", "__extendsftf2", "__extendxftf2", "__fbufsize", "__fdelt_chk",
    "__ffsdi2", "__ffsti2", "__fgets_chk", "__fgets_unlocked_chk", "__finite", "__finitef", "__finitel",
    "__fixdfti", "__fixsfti", "__fixtfdi", "__fixtfsi", "__fixtfti", "__fixunsdfti", "__fixunssfti",
    "__fixunstfdi", "__fixunstfsi", "__fixunstfti", "__fixunsxfti", "__fixxfti", "__flbf", "__floatditf",
    "__floatsitf", "__floattidf", "__floattisf", "__floattitf", "__floattixf", "__floatunditf",
    "__floatunsitf", "__floatuntidf", "__floatuntisf", "__floatuntitf", "__floatuntixf", "__fmod_finite",
    "__fmodf_finite", "__fmodl_finite", "__fortify_fail", "__fpclassify", "__fpclassifyf", "__fpclassifyl",
    "__fpending", "__fprintf_chk", "__fpurge", "__fread_chk", "__fread_unlocked_chk", "__freadable",
    "__freading", "__fsetlocking", "__fwritable", "__fwriting", "__fxstat", "__fxstat64", "__fxstatat",
    "__fxstatat64", "__gcc_personality_v0", "__getcwd_chk", "__getdelim", "__getf2", "__gethostname_chk",
    "__gets_chk", "__gnu_f2h_ieee", "__gnu_h2f_ieee", "__gttf2", "__gxx_personality_v0", "__h_errno_location",
    "__hypot_finite", "__hypotf_finite", "__hypotl_finite", "__iseqsig", "__isinf", "__isinff", "__isinfl",
    "__isnan", "__isnanf", "__isnanl", "__isoc23_fscanf", "__isoc23_scanf", "__isoc23_sscanf",
    "__isoc23_strtoimax", "__isoc23_strtol", "__isoc23_strtoll", "__isoc23_strtoul", "__isoc23_strtoull",
    "__isoc23_strtoumax", "__isoc23_vfscanf", "__isoc23_vscanf", "__isoc23_vsscanf", "__isoc99_fscanf",
    "__isoc99_scanf", "__isoc99_sscanf", "__isoc99_vfscanf", "__isoc99_vscanf", "__isoc99_vsscanf",
    "__issignaling", "__issignalingf", "__issignalingl", "__j0_finite", "__j0f_finite", "__j0l_finite",
    "__j1_finite", "__j1f_finite", "__j1l_finite", "__jn_finite", "__jnf_finite", "__jnl_finite", "__letf2",
    "__lgamma_r_finite", "__lgamma_rf_finite", "__lgamma_rl_finite", "__libc_current_sigrtmax",
    "__libc_current_sigrtmin", "__libc_fatal", "__log10_finite", "__log10f_finite", "__log10l_finite",
    "__log2_finite", "__log2f_finite", "__log2l_finite", "__log_finite", "__logf_finite", "__logl_finite",
    "__longjmp_chk", "__lshrdi3", "__lshrti3", "__lttf2", "__lxstat", "__lxstat64", "__memcpy_chk",
    "__memcpy_inline", "__memmove_chk", "__mempcpy_chk", "__memset_chk", "__moddi3", "__modsi3", "__modti3",
    "__muldc3", "__muldi3", "__mulodi4", "__mulosi4", "__muloti4", "__mulsc3", "__multc3", "__multf3",
    "__multi3", "__mulvdi3", "__mulvsi3", "__mulvti3", "__mulxc3", "__negdi2", "__negtf2", "__negti2",
    "__netf2", "__open64_2", "__open_2", "__openat64_2", "__openat_2", "__overflow", "__parityti2",
    "__poll_chk", "__popcountdi2", "__popcountsi2", "__popcountti2", "__pow_finite", "__powf_finite",
    "__powidf2", "__powisf2", "__powitf2", "__powixf2", "__powl_finite", "__ppoll_chk", "__pread64_chk",
    "__pread_chk", "__printf_chk", "__pthread_key_create", "__pthread_register_cancel",
    "__pthread_register_cancel_defer", "__pthread_unregister_cancel", "__pthread_unregister_cancel_restore",
    "__pthread_unwind_next", "__rawmemchr", "__read_chk", "__readlink_chk", "__readlinkat_chk",
    "__realpath_chk", "__recv_chk", "__recvfrom_chk", "__register_atfork", "__remainder_finite",
    "__remainderf_finite", "__remainderl_finite", "__scalb_finite", "__scalbf_finite", "__scalbl_finite",
    "__sched_cpualloc", "__sched_cpucount", "__sched_cpufree", "__signbit", "__signbitf", "__signbitl",
    "__sigsetjmp", "__sinh_finite", "__sinhf_finite", "__sinhl_finite", "__snprintf_chk", "__sprintf_chk",
    "__sqrt_finite", "__sqrtf_finite", "__sqrtl_finite", "__stack_chk_fail", "__stpcpy_chk", "__stpncpy_chk",
    "__strcat_chk", "__strcpy_chk", "__strdup", "__strncat_chk", "__strncpy_chk", "__strndup", "__strtok_r",
    "__subtf3", "__subvdi3", "__subvsi3", "__subvti3", "__swprintf_chk", "__syslog_chk", "__sysv_signal",
    "__tls_get_addr", "__truncdfhf2", "__truncsfhf2", "__trunctfdf2", "__trunctfsf2", "__trunctfxf2",
    "__ucmpdi2", "__ucmpti2", "__udivdi3", "__udivmoddi4", "__udivmodti4", "__udivsi3", "__udivti3",
    "__uflow", "__umoddi3", "__umodsi3", "__umodti3", "__unordtf2", "__vasprintf_chk", "__vdprintf_chk",
    "__vfprintf_chk", "__vprintf_chk", "__vsnprintf_chk", "__vsprintf_chk", "__vswprintf_chk",
    "__vsyslog_chk", "__xpg_basename", "__xpg_strerror_r", "__xstat", "__xstat64", "__y0_finite",
    "__y0f_finite", "__y0l_finite", "__y1_finite", "__y1f_finite", "__y1l_finite", "__yn_finite",
    "__ynf_finite", "__ynl_finite", "_flushlbf", "_longjmp", "_pthread_cleanup_pop", "_pthread_cleanup_push",
    "_setjmp", "a64l", "abort", "abs", "accept", "accept4", "access", "acos", "acosf", "acosh", "acoshf",
    "acoshl", "acosl", "adjtime", "adjtimex", "alarm", "aligned_alloc", "alloca", "alphasort", "arc4random",
    "arc4random_buf", "arc4random_uniform", "arch_prctl", "asctime", "asctime_r", "asin", "asinf", "asinh",
    "asinhf", "asinhl", "asinl", "asprintf", "at_quick_exit", "atan", "atan2", "atan2f", "atan2l", "atanf",
    "atanh", "atanhf", "atanhl", "atanl", "atexit", "atof", "atoi", "atol", "atoll", "backtrace",
    "backtrace_symbols", "backtrace_symbols_fd", "basename", "bcmp", "bcopy", "bind",
    "bind_textdomain_codeset", "bindtextdomain", "brk", "bsd_signal", "btowc", "bzero", "c16rtomb",
    "c32rtomb", "cabs", "cabsf", "cabsl", "cacos", "cacosf", "cacosh", "cacoshf", "cacoshl", "cacosl",
    "calloc", "canonicalize", "canonicalize_file_name", "canonicalizef", "canonicalizel", "carg", "cargf",
    "cargl", "casin", "casinf", "casinh", "casinhf", "casinhl", "casinl", "catan", "catanf", "catanh",
    "catanhf", "catanhl", "catanl", "catclose", "catgets", "catopen", "cbrt", "cbrtf", "cbrtl", "ccos",
    "ccosf", "ccosh", "ccoshf", "ccoshl", "ccosl", "ceil", "ceilf", "ceill", "cexp", "cexpf", "cexpl",
    "cfgetispeed", "cfgetospeed", "cfmakeraw", "cfree", "cfsetispeed", "cfsetospeed", "cfsetspeed", "chdir",
    "chmod", "chown", "chroot", "cimag", "cimagf", "cimagl", "clearenv", "clearerr", "clearerr_unlocked",
    "clock", "clock_getcpuclockid", "clock_getres", "clock_gettime", "clock_nanosleep", "clock_settime",
    "clog", "clog10", "clog10f", "clog10l", "clogf", "clogl", "close", "close_range", "closedir", "closefrom",
    "closelog", "confstr", "conj", "conjf", "conjl", "connect", "copy_file_range", "copysign", "copysignf",
    "copysignl", "cos", "cosf", "cosh", "coshf", "coshl", "cosl", "cpow", "cpowf", "cpowl", "cproj", "cprojf",
    "cprojl", "creal", "crealf", "creall", "creat", "creat64", "crypt", "crypt_r", "csin", "csinf", "csinh",
    "csinhf", "csinhl", "csinl", "csqrt", "csqrtf", "csqrtl", "ctan", "ctanf", "ctanh", "ctanhf", "ctanhl",
    "ctanl", "ctermid", "ctime", "ctime_r", "cuserid", "daemon", "dcgettext", "dcngettext", "dgettext",
    "difftime", "dirfd", "dirname", "div", "dladdr", "dladdr1", "dlerror", "dlinfo", "dlsym", "dlvsym",
    "dngettext", "dprintf", "drand48", "drand48_r", "drem", "dremf", "dreml", "dup", "dup2", "dup3",
    "duplocale", "dysize", "eaccess", "ecvt", "endgrent", "endhostent", "endmntent", "endprotoent",
    "endpwent", "endservent", "epoll_create", "epoll_create1", "epoll_ctl", "epoll_pwait", "epoll_pwait2",
    "epoll_wait", "erand48", "erf", "erfc", "erfcf", "erfcl", "erff", "erfl", "err", "error", "error_at_line",
    "errx", "euidaccess", "eventfd", "eventfd_read", "eventfd_write", "execl", "execle", "execlp", "execv",
    "execve", "execveat", "execvp", "execvpe", "exp", "exp10", "exp10f", "exp10l", "exp2", "exp2f", "exp2l",
    "expf", "expl", "explicit_bzero", "expm1", "expm1f", "expm1l", "fabs", "fabsf", "fabsl", "faccessat",
    "fallocate", "fallocate64", "fanotify_init", "fanotify_mark", "fchdir", "fchmod", "fchmodat", "fchown",
    "fchownat", "fclose", "fcloseall", "fcntl", "fcntl64", "fcvt", "fdatasync", "fdim", "fdimf", "fdiml",
    "fdopen", "fdopendir", "feclearexcept", "fedisableexcept", "feenableexcept", "fegetenv", "fegetexcept",
    "fegetexceptflag", "fegetmode", "fegetround", "feholdexcept", "feof", "feof_unlocked", "feraiseexcept",
    "ferror", "ferror_unlocked", "fesetenv", "fesetexcept", "fesetexceptflag", "fesetmode", "fesetround",
    "fetestexcept", "fetestexceptflag", "feupdateenv", "fexecve", "fflush", "fflush_unlocked", "ffs", "ffsl",
    "ffsll", "fgetc", "fgetc_unlocked", "fgetpos", "fgetpos64", "fgets", "fgets_unlocked", "fgetwc", "fgetws",
    "fgetxattr", "fileno", "fileno_unlocked", "finite", "finitef", "finitel", "flistxattr", "flock",
    "flockfile", "floor", "floorf", "floorl", "fma", "fmaf", "fmal", "fmax", "fmaxf", "fmaxl", "fmaxmag",
    "fmaxmagf", "fmaxmagl", "fmemopen", "fmin", "fminf", "fminl", "fminmag", "fminmagf", "fminmagl", "fmod",
    "fmodf", "fmodl", "fnmatch", "fopen", "fopen64", "fork", "forkpty", "fpathconf", "fprintf", "fputc",
    "fputc_unlocked", "fputs", "fputs_unlocked", "fputwc", "fputws", "fread", "fread_unlocked", "free",
    "freeaddrinfo", "freeifaddrs", "freelocale", "fremovexattr", "freopen", "freopen64", "frexp", "frexpf",
    "frexpl", "fromfp", "fromfpf", "fromfpl", "fscanf", "fseek", "fseeko", "fseeko64", "fsetpos", "fsetpos64",
    "fsetxattr", "fstat", "fstat64", "fstatat", "fstatat64", "fstatfs", "fstatfs64", "fstatvfs", "fstatvfs64",
    "fsync", "ftell", "ftello", "ftello64", "ftime", "ftok", "ftruncate", "ftruncate64", "ftrylockfile",
    "funlockfile", "futimens", "futimes", "futimesat", "fwide", "fwprintf", "fwrite", "fwrite_unlocked",
    "fwscanf", "gai_strerror", "gamma", "gammaf", "gammal", "gcvt", "get_avphys_pages",
    "get_current_dir_name", "get_nprocs", "get_nprocs_conf", "get_phys_pages", "getaddrinfo", "getauxval",
    "getc", "getc_unlocked", "getchar", "getchar_unlocked", "getcontext", "getcpu", "getcwd", "getdate",
    "getdelim", "getdents64", "getdomainname", "getegid", "getentropy", "getenv", "geteuid", "getgid",
    "getgrent", "getgrgid", "getgrgid_r", "getgrnam", "getgrnam_r", "getgrouplist", "getgroups",
    "gethostbyaddr", "gethostbyaddr_r", "gethostbyname", "gethostbyname2", "gethostbyname2_r",
    "gethostbyname_r", "gethostent", "gethostid", "gethostname", "getifaddrs", "getitimer", "getline",
    "getloadavg", "getlogin", "getlogin_r", "getmntent", "getmntent_r", "getnameinfo", "getopt",
    "getopt_long", "getopt_long_only", "getpagesize", "getpass", "getpayload", "getpayloadf", "getpayloadl",
    "getpeername", "getpgid", "getpgrp", "getpid", "getppid", "getpriority", "getprotobyname",
    "getprotobyname_r", "getprotobynumber", "getprotobynumber_r", "getprotoent", "getpt", "getpwent",
    "getpwnam", "getpwnam_r", "getpwuid", "getpwuid_r", "getrandom", "getresgid", "getresuid", "getrlimit",
    "getrlimit64", "getrusage", "gets", "getservbyname", "getservbyname_r", "getservbyport",
    "getservbyport_r", "getservent", "getsid", "getsockname", "getsockopt", "getsubopt", "gettext", "gettid",
    "gettimeofday", "getuid", "getutent", "getw", "getwc", "getwchar", "getwd", "getxattr", "globfree",
    "globfree64", "gmtime", "gmtime_r", "grantpt", "hcreate", "hcreate_r", "hdestroy", "hdestroy_r", "herror",
    "hsearch", "hsearch_r", "hstrerror", "htonl", "htons", "hypot", "hypotf", "hypotl", "iconv",
    "iconv_close", "iconv_open", "if_freenameindex", "if_indextoname", "if_nameindex", "if_nametoindex",
    "ilogb", "ilogbf", "ilogbl", "imaxabs", "imaxdiv", "index", "inet_addr", "inet_aton", "inet_lnaof",
    "inet_makeaddr", "inet_netof", "inet_network", "inet_ntoa", "inet_ntop", "inet_pton", "initgroups",
    "initstate", "inotify_add_watch", "inotify_init", "inotify_init1", "inotify_rm_watch", "insque", "ioctl",
    "isalnum", "isalpha", "isascii", "isatty", "isblank", "iscntrl", "isdigit", "isfdtype", "isgraph",
    "isinf", "isinff", "isinfl", "islower", "isnan", "isnanf", "isnanl", "isprint", "ispunct", "isspace",
    "isupper", "iswalnum", "iswalpha", "iswblank", "iswcntrl", "iswctype", "iswdigit", "iswgraph", "iswlower",
    "iswprint", "iswpunct", "iswspace", "iswupper", "iswxdigit", "isxdigit", "j0", "j0f", "j0l", "j1", "j1f",
    "j1l", "jn", "jnf", "jnl", "jrand48", "l64a", "labs", "lchmod", "lchown", "lcong48", "ldexp", "ldexpf",
    "ldexpl", "ldiv", "lgamma", "lgamma_r", "lgamma_rf", "lgamma_rl", "lgammaf", "lgammal", "lgetxattr",
    "link", "linkat", "listen", "listxattr", "llabs", "lldiv", "llistxattr", "llogb", "llogbf", "llogbl",
    "llrint", "llrintf", "llrintl", "llround", "llroundf", "llroundl", "localeconv", "localtime",
    "localtime_r", "lockf", "lockf64", "log", "log10", "log10f", "log10l", "log1p", "log1pf", "log1pl",
    "log2", "log2f", "log2l", "logb", "logbf", "logbl", "logf", "login_tty", "logl", "longjmp", "lrand48",
    "lrand48_r", "lremovexattr", "lrint", "lrintf", "lrintl", "lround", "lroundf", "lroundl", "lseek",
    "lseek64", "lsetxattr", "lstat", "lstat64", "lutimes", "madvise", "makecontext", "mallinfo", "mallinfo2",
    "malloc", "malloc_stats", "malloc_trim", "malloc_usable_size", "mallopt", "matherr", "mblen", "mbrlen",
    "mbrtoc16", "mbrtoc32", "mbrtowc", "mbsinit", "mbsnrtowcs", "mbsrtowcs", "mbstowcs", "mbtowc", "memalign",
    "memccpy", "memchr", "memcmp", "memcpy", "memfd_create", "memfrob", "memmem", "memmove", "mempcpy",
    "memrchr", "memset", "mincore", "mkdir", "mkdirat", "mkdtemp", "mkfifo", "mkfifoat", "mknod", "mknodat",
    "mkostemp", "mkostemps", "mkstemp", "mkstemp64", "mkstemps", "mktemp", "mktime", "mlock", "mlock2",
    "mlockall", "mmap", "mmap64", "modf", "modff", "modfl", "mount", "mprotect", "mq_close", "mq_getattr",
    "mq_open", "mq_receive", "mq_send", "mq_setattr", "mq_timedreceive", "mq_timedsend", "mq_unlink",
    "mrand48", "mremap", "msgctl", "msgget", "msgrcv", "msgsnd", "msync", "munlock", "munlockall", "munmap",
    "nan", "nanf", "nanl", "nanosleep", "nearbyint", "nearbyintf", "nearbyintl", "newlocale", "nextafter",
    "nextafterf", "nextafterl", "nextdown", "nextdownf", "nextdownl", "nexttoward", "nexttowardf",
    "nexttowardl", "nextup", "nextupf", "nextupl", "ngettext", "nice", "nl_langinfo", "nl_langinfo_l",
    "nrand48", "ntohl", "ntohs", "ntp_adjtime", "on_exit", "open", "open64", "open_memstream",
    "open_wmemstream", "openat", "openat64", "opendir", "openlog", "openpty", "pathconf", "pclose", "perror",
    "personality", "pipe", "pipe2", "poll", "popen", "posix_fadvise", "posix_fadvise64", "posix_fallocate",
    "posix_fallocate64", "posix_madvise", "posix_memalign", "posix_openpt", "posix_spawn",
    "posix_spawn_file_actions_addchdir_np", "posix_spawn_file_actions_addclose",
    "posix_spawn_file_actions_adddup2", "posix_spawn_file_actions_addopen",
    "posix_spawn_file_actions_destroy", "posix_spawn_file_actions_init", "posix_spawnattr_destroy",
    "posix_spawnattr_getflags", "posix_spawnattr_init", "posix_spawnattr_setflags",
    "posix_spawnattr_setpgroup", "posix_spawnattr_setsigdefault", "posix_spawnattr_setsigmask",
    "posix_spawnp", "pow", "pow10", "pow10f", "pow10l", "powf", "powl", "ppoll", "prctl", "pread", "pread64",
    "preadv", "preadv2", "printf", "prlimit", "prlimit64", "pselect", "psiginfo", "psignal", "pthread_atfork",
    "pthread_attr_destroy", "pthread_attr_getaffinity_np", "pthread_attr_getdetachstate",
    "pthread_attr_getguardsize", "pthread_attr_getinheritsched", "pthread_attr_getschedparam",
    "pthread_attr_getschedpolicy", "pthread_attr_getscope", "pthread_attr_getsigmask_np",
    "pthread_attr_getstack", "pthread_attr_getstackaddr", "pthread_attr_getstacksize", "pthread_attr_init",
    "pthread_attr_setaffinity_np", "pthread_attr_setdetachstate", "pthread_attr_setguardsize",
    "pthread_attr_setinheritsched", "pthread_attr_setschedparam", "pthread_attr_setschedpolicy",
    "pthread_attr_setscope", "pthread_attr_setsigmask_np", "pthread_attr_setstack",
    "pthread_attr_setstackaddr", "pthread_attr_setstacksize", "pthread_barrierattr_destroy",
    "pthread_barrierattr_getpshared", "pthread_barrierattr_init", "pthread_barrierattr_setpshared",
    "pthread_condattr_destroy", "pthread_condattr_getclock", "pthread_condattr_getpshared",
    "pthread_condattr_init", "pthread_condattr_setclock", "pthread_condattr_setpshared", "pthread_equal",
    "pthread_getaffinity_np", "pthread_getattr_default_np", "pthread_getattr_np", "pthread_getconcurrency",
    "pthread_getcpuclockid", "pthread_getname_np", "pthread_getschedparam", "pthread_getspecific",
    "pthread_key_create", "pthread_key_delete", "pthread_mutex_consistent", "pthread_mutex_consistent_np",
    "pthread_mutex_getprioceiling", "pthread_mutex_setprioceiling", "pthread_mutexattr_destroy",
    "pthread_mutexattr_getkind_np", "pthread_mutexattr_getprioceiling", "pthread_mutexattr_getprotocol",
    "pthread_mutexattr_getpshared", "pthread_mutexattr_getrobust", "pthread_mutexattr_gettype",
    "pthread_mutexattr_init", "pthread_mutexattr_setkind_np", "pthread_mutexattr_setprioceiling",
    "pthread_mutexattr_setprotocol", "pthread_mutexattr_setpshared", "pthread_mutexattr_setrobust",
    "pthread_mutexattr_settype", "pthread_rwlockattr_destroy", "pthread_rwlockattr_getkind_np",
    "pthread_rwlockattr_getpshared", "pthread_rwlockattr_init", "pthread_rwlockattr_setkind_np",
    "pthread_rwlockattr_setpshared", "pthread_self", "pthread_setaffinity_np", "pthread_setattr_default_np",
    "pthread_setcancelstate", "pthread_setcanceltype", "pthread_setconcurrency", "pthread_setname_np",
    "pthread_setschedparam", "pthread_setschedprio", "pthread_setspecific", "pthread_sigmask",
    "pthread_sigqueue", "pthread_testcancel", "pthread_yield", "ptrace", "ptsname", "ptsname_r", "putc",
    "putc_unlocked", "putchar", "putchar_unlocked", "putenv", "puts", "putw", "putwc", "putwchar", "pvalloc",
    "pwrite", "pwrite64", "pwritev", "pwritev2", "qecvt", "qfcvt", "qgcvt", "rand", "rand_r", "random",
    "random_r", "rawmemchr", "read", "readahead", "readdir", "readdir64", "readdir_r", "readlink",
    "readlinkat", "readv", "realloc", "reallocarray", "realpath", "recv", "recvfrom", "recvmmsg", "recvmsg",
    "regcomp", "regerror", "regexec", "regfree", "remainder", "remainderf", "remainderl", "remap_file_pages",
    "remove", "removexattr", "remque", "remquo", "remquof", "remquol", "rename", "renameat", "renameat2",
    "rewind", "rewinddir", "rindex", "rint", "rintf", "rintl", "rmdir", "round", "roundeven", "roundevenf",
    "roundevenl", "roundf", "roundl", "sbrk", "scalb", "scalbf", "scalbl", "scalbln", "scalblnf", "scalblnl",
    "scalbn", "scalbnf", "scalbnl", "scanf", "sched_get_priority_max", "sched_get_priority_min",
    "sched_getaffinity", "sched_getcpu", "sched_getparam", "sched_getscheduler", "sched_rr_get_interval",
    "sched_setaffinity", "sched_setparam", "sched_setscheduler", "sched_yield", "secure_getenv", "seed48",
    "seekdir", "select", "sem_unlink", "semctl", "semget", "semop", "semtimedop", "send", "sendfile",
    "sendfile64", "sendmmsg", "sendmsg", "sendto", "setbuf", "setbuffer", "setdomainname", "setegid",
    "setenv", "seteuid", "setgid", "setgrent", "setgroups", "sethostent", "sethostname", "setitimer",
    "setjmp", "setlinebuf", "setlocale", "setlogmask", "setmntent", "setns", "setpayload", "setpayloadf",
    "setpayloadl", "setpgid", "setpgrp", "setpriority", "setprotoent", "setpwent", "setregid", "setresgid",
    "setresuid", "setreuid", "setrlimit", "setrlimit64", "setservent", "setsid", "setsockopt", "setstate",
    "settimeofday", "setuid", "setvbuf", "setxattr", "shm_open", "shm_unlink", "shmat", "shmctl", "shmdt",
    "shmget", "shutdown", "sigabbrev_np", "sigaction", "sigaddset", "sigaltstack", "sigandset", "sigdelset",
    "sigdescr_np", "sigemptyset", "sigfillset", "sighold", "sigignore", "siginterrupt", "sigisemptyset",
    "sigismember", "siglongjmp", "signal", "signalfd", "significand", "significandf", "significandl",
    "sigorset", "sigpending", "sigprocmask", "sigrelse", "sigset", "sigsetjmp", "sin", "sincos", "sincosf",
    "sincosl", "sinf", "sinh", "sinhf", "sinhl", "sinl", "sleep", "snprintf", "sockatmark", "socket",
    "socketpair", "splice", "sprintf", "sqrt", "sqrtf", "sqrtl", "srand", "srand48", "srand48_r", "srandom",
    "srandom_r", "sscanf", "stat", "stat64", "statfs", "statfs64", "statvfs", "statvfs64", "statx", "stime",
    "stpcpy", "stpncpy", "strcasecmp", "strcasecmp_l", "strcasestr", "strcat", "strchr", "strchrnul",
    "strcmp", "strcoll", "strcoll_l", "strcpy", "strcspn", "strdup", "strerror", "strerror_l", "strerror_r",
    "strerrordesc_np", "strerrorname_np", "strfmon", "strfmon_l", "strfromd", "strfromf", "strfroml",
    "strfry", "strftime", "strftime_l", "strlcat", "strlcpy", "strlen", "strncasecmp", "strncasecmp_l",
    "strncat", "strncmp", "strncpy", "strndup", "strnlen", "strpbrk", "strptime", "strrchr", "strsep",
    "strsignal", "strspn", "strstr", "strtod", "strtod_l", "strtof", "strtof_l", "strtoimax", "strtok",
    "strtok_r", "strtol", "strtol_l", "strtold", "strtold_l", "strtoll", "strtoll_l", "strtoq", "strtoul",
    "strtoul_l", "strtoull", "strtoull_l", "strtoumax", "strtouq", "strverscmp", "strxfrm", "strxfrm_l",
    "swab", "swprintf", "swscanf", "symlink", "symlinkat", "sync", "sync_file_range", "syncfs", "syscall",
    "sysconf", "sysinfo", "syslog", "system", "tan", "tanf", "tanh", "tanhf", "tanhl", "tanl", "tcdrain",
    "tcflow", "tcflush", "tcgetattr", "tcgetpgrp", "tcgetsid", "tcsendbreak", "tcsetattr", "tcsetpgrp", "tee",
    "telldir", "tempnam", "textdomain", "tgamma", "tgammaf", "tgammal", "thrd_current", "thrd_equal",
    "thrd_sleep", "thrd_yield", "time", "timegm", "timelocal", "timer_delete", "timer_getoverrun",
    "timer_gettime", "timer_settime", "timerfd_create", "timerfd_gettime", "timerfd_settime", "times",
    "timespec_get", "timespec_getres", "tmpfile", "tmpfile64", "tmpnam", "tmpnam_r", "toascii", "tolower",
    "totalorder", "totalorderf", "totalorderl", "totalordermag", "totalordermagf", "totalordermagl",
    "toupper", "towctrans", "towlower", "towupper", "trunc", "truncate", "truncate64", "truncf", "truncl",
    "tss_create", "tss_delete", "tss_get", "tss_set", "ttyname", "ttyname_r", "ttyslot", "tzset", "ualarm",
    "ufromfp", "ufromfpf", "ufromfpl", "umask", "umount", "umount2", "uname", "ungetc", "ungetwc", "unlink",
    "unlinkat", "unlockpt", "unsetenv", "unshare", "uselocale", "usleep", "utime", "utimensat", "utimes",
    "utmpname", "valloc", "vasprintf", "vdprintf", "verr", "verrx", "versionsort", "vfork", "vfprintf",
    "vfscanf", "vfwprintf", "vfwscanf", "vmsplice", "vprintf", "vscanf", "vsnprintf", "vsprintf", "vsscanf",
    "vswprintf", "vswscanf", "vsyslog", "vwarn", "vwarnx", "vwprintf", "vwscanf", "wait", "wait3", "wait4",
    "waitid", "waitpid", "warn", "warnx", "wcpcpy", "wcpncpy", "wcrtomb", "wcscasecmp", "wcscat", "wcschr",
    "wcscmp", "wcscoll", "wcscpy", "wcscspn", "wcsdup", "wcsftime", "wcslen", "wcsncasecmp", "wcsncat",
    "wcsncmp", "wcsncpy", "wcsnlen", "wcsnrtombs", "wcspbrk", "wcsrchr", "wcsrtombs", "wcsspn", "wcsstr",
    "wcstod", "wcstof", "wcstok", "wcstol", "wcstold", "wcstoll", "wcstombs", "wcstoul", "wcstoull",
    "wcswidth", "wcsxfrm", "wctob", "wctomb", "wctrans", "wctype", "wcwidth", "wmemchr", "wmemcmp", "wmemcpy",
    "wmemmove", "wmempcpy", "wmemset", "wordexp", "wordfree", "wprintf", "write", "writev", "wscanf", "y0",
    "y0f", "y0l", "y1", "y1f", "y1l", "yn", "ynf", "ynl",
];

/// How whole families of them begin: sanitizers, libstdc++'s strings, streams, locales, exceptions and errors.
#[rustfmt::skip]
const PREFIXES: &[&str] = &[
    "_ZN10__cxxabiv1", "_ZN9__gnu_cxx", "_ZNK10__cxxabiv1", "_ZNK9__gnu_cxx", "_ZNKSd", "_ZNKSi", "_ZNKSo",
    "_ZNKSs", "_ZNKSt10bad_typeid", "_ZNKSt10filesystem", "_ZNKSt10moneypunct", "_ZNKSt11logic_error",
    "_ZNKSt12__basic_file", "_ZNKSt12future_error", "_ZNKSt12system_error", "_ZNKSt13bad_exception",
    "_ZNKSt13basic_filebuf", "_ZNKSt13basic_fstream", "_ZNKSt13basic_istream", "_ZNKSt13basic_ostream",
    "_ZNKSt13random_device", "_ZNKSt13runtime_error", "_ZNKSt14basic_ifstream", "_ZNKSt14basic_ofstream",
    "_ZNKSt14error_category", "_ZNKSt15__exception_ptr", "_ZNKSt15basic_streambuf",
    "_ZNKSt17bad_function_call", "_ZNKSt20bad_array_new_length", "_ZNKSt3_V2", "_ZNKSt5ctype",
    "_ZNKSt6chrono", "_ZNKSt6locale", "_ZNKSt7__cxx11", "_ZNKSt7codecvt", "_ZNKSt7collate", "_ZNKSt7num_get",
    "_ZNKSt7num_put", "_ZNKSt8__detail", "_ZNKSt8bad_cast", "_ZNKSt8ios_base", "_ZNKSt8messages",
    "_ZNKSt8numpunct", "_ZNKSt8time_get", "_ZNKSt8time_put", "_ZNKSt9bad_alloc", "_ZNKSt9basic_ios",
    "_ZNKSt9exception", "_ZNKSt9type_info", "_ZNSbIwSt", "_ZNSd", "_ZNSi", "_ZNSo", "_ZNSs",
    "_ZNSt10__num_base", "_ZNSt10bad_typeid", "_ZNSt10error_code", "_ZNSt10filesystem", "_ZNSt10moneypunct",
    "_ZNSt11logic_error", "_ZNSt11range_error", "_ZNSt12__basic_file", "_ZNSt12__cow_string",
    "_ZNSt12ctype_byname", "_ZNSt12domain_error", "_ZNSt12future_error", "_ZNSt12length_error",
    "_ZNSt12out_of_range", "_ZNSt12system_error", "_ZNSt13bad_exception", "_ZNSt13basic_filebuf",
    "_ZNSt13basic_fstream", "_ZNSt13basic_istream", "_ZNSt13basic_ostream", "_ZNSt13random_device",
    "_ZNSt13runtime_error", "_ZNSt14basic_ifstream", "_ZNSt14basic_iostream", "_ZNSt14basic_ofstream",
    "_ZNSt14error_category", "_ZNSt14overflow_error", "_ZNSt15__exception_ptr", "_ZNSt15basic_streambuf",
    "_ZNSt15error_condition", "_ZNSt15underflow_error", "_ZNSt16invalid_argument", "_ZNSt16nested_exception",
    "_ZNSt17bad_function_call", "_ZNSt20bad_array_new_length", "_ZNSt3_V2", "_ZNSt5ctype", "_ZNSt6chrono",
    "_ZNSt6locale", "_ZNSt7__cxx11", "_ZNSt7codecvt", "_ZNSt7collate", "_ZNSt7num_get", "_ZNSt7num_put",
    "_ZNSt8__detail", "_ZNSt8bad_cast", "_ZNSt8ios_base", "_ZNSt8messages", "_ZNSt8numpunct",
    "_ZNSt8time_get", "_ZNSt8time_put", "_ZNSt9bad_alloc", "_ZNSt9basic_ios", "_ZNSt9exception",
    "_ZNSt9type_info", "_ZSt10unexpectedv", "_ZSt11_Hash_bytes", "_ZSt13get_terminate", "_ZSt13set_terminate",
    "_ZSt14__convert_to_v", "_ZSt15_Fnv_hash_bytes", "_ZSt15future_category", "_ZSt15get_new_handler",
    "_ZSt15set_new_handler", "_ZSt15system_category", "_ZSt16__ostream_insert", "_ZSt16__throw_",
    "_ZSt16generic_category", "_ZSt17__istream_extract", "_ZSt17__throw_", "_ZSt17current_exceptionv",
    "_ZSt17iostream_category", "_ZSt17rethrow_exception", "_ZSt18_Rb_tree", "_ZSt18__throw_",
    "_ZSt18uncaught_exception", "_ZSt19__throw_", "_ZSt19uncaught_exceptions", "_ZSt20_Rb_tree",
    "_ZSt20__replacement_assert", "_ZSt20__throw_", "_ZSt21__glibcxx_assert_fail", "_ZSt21__throw_",
    "_ZSt22__throw_", "_ZSt23__throw_", "_ZSt24__throw_", "_ZSt25__throw_", "_ZSt26__throw_",
    "_ZSt27__throw_", "_ZSt28_Rb_tree", "_ZSt28__throw_", "_ZSt29_Rb_tree", "_ZSt2ws", "_ZSt4endl",
    "_ZSt4ends", "_ZSt5flush", "_ZSt7getline", "_ZSt7nothrow", "_ZSt9has_facet", "_ZSt9terminatev",
    "_ZSt9use_facet", "_ZSteq", "_ZStls", "_ZStlt", "_ZStneI", "_ZStplI", "_ZStrs", "__asan_", "__atomic_",
    "__cfi_", "__gcov_", "__hwasan_", "__llvm_", "__lsan_", "__msan_", "__profile_", "__sanitizer_",
    "__start_", "__tsan_", "__ubsan_",
];

/// See [`keeps_callback_in_thread`].
#[rustfmt::skip]
const CALLBACK_IN_THREAD: &[&str] = &[
    "_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE",
    "__cxa_at_quick_exit", "__cxa_atexit", "__cxa_thread_atexit", "__cxa_thread_atexit_impl", "__cxa_throw",
    "__pthread_key_create", "__sysv_signal", "at_quick_exit", "atexit", "bsd_signal", "bsearch", "on_exit",
    "pthread_cleanup_push", "pthread_key_create", "pthread_once", "qsort", "signal", "sigset", "tss_create",
];

/// See [`may_block`].
#[rustfmt::skip]
const BLOCKING: &[&str] = &[
    "_IO_getc", "_IO_putc", "__accept", "__close", "__connect", "__cxa_guard_acquire", "__dprintf_chk",
    "__fcntl", "__fgets_chk",
    "__fgets_unlocked_chk", "__fgetws_chk", "__fprintf_chk", "__fread_chk", "__fread_unlocked_chk",
    "__fwprintf_chk", "__getdelim", "__gets_chk", "__isoc23_fscanf", "__isoc23_scanf", "__isoc23_vfscanf",
    "__isoc23_vscanf", "__isoc99_fscanf", "__isoc99_scanf", "__isoc99_vfscanf", "__isoc99_vscanf",
    "__nanosleep", "__open", "__open64", "__poll", "__poll_chk", "__ppoll_chk", "__pread64_chk",
    "__pread_chk", "__printf_chk", "__read", "__read_chk", "__recv", "__recv_chk", "__recvfrom_chk",
    "__select", "__send", "__sleep", "__syslog_chk", "__usleep", "__vdprintf_chk", "__vfprintf_chk",
    "__vfwprintf_chk", "__vprintf_chk", "__vsyslog_chk", "__vwprintf_chk", "__wait", "__waitpid",
    "__wprintf_chk", "__write", "accept", "accept4", "aio_suspend", "aio_suspend64", "clock_nanosleep",
    "close", "connect", "copy_file_range", "dprintf", "epoll_pwait", "epoll_pwait2", "epoll_wait", "fclose",
    "fcntl", "fcntl64", "fdatasync", "fflush", "fflush_unlocked", "fgetc", "fgetc_unlocked", "fgets",
    "fgets_unlocked", "fgetwc", "fgetws", "flock", "flockfile", "fopen", "fopen64", "fprintf", "fputc",
    "fputc_unlocked", "fputs", "fputs_unlocked", "fputwc", "fputws", "fread", "fread_unlocked", "freopen",
    "freopen64", "fscanf", "fsync", "ftruncate", "ftruncate64", "futex", "fwprintf", "fwrite",
    "fwrite_unlocked", "fwscanf", "getaddrinfo", "getc", "getc_unlocked", "getchar", "getchar_unlocked",
    "getdelim", "gethostbyaddr", "gethostbyname", "gethostbyname_r", "getline", "getmsg", "getnameinfo",
    "getpass", "gets", "getw", "getwc", "getwchar", "io_getevents", "io_uring_enter", "ioctl", "lockf",
    "lockf64", "mq_receive", "mq_send", "mq_timedreceive", "mq_timedsend", "msgrcv", "msgsnd", "msync",
    "nanosleep", "open", "open64", "openat", "openat64", "pause", "pclose", "perror", "poll", "popen",
    "ppoll", "pread", "pread64", "preadv", "preadv2", "preadv64", "printf", "pselect", "psiginfo", "psignal",
    "putc", "putc_unlocked", "putchar", "putchar_unlocked", "puts", "putw", "putwc", "putwchar", "pwrite",
    "pwrite64", "pwritev", "pwritev2", "pwritev64", "read", "readv", "recv", "recvfrom", "recvmmsg",
    "recvmsg", "scanf", "select", "semop", "semtimedop", "send", "sendfile", "sendfile64", "sendmmsg",
    "sendmsg", "sendto", "sigpause", "sigsuspend", "sigtimedwait", "sigwait", "sigwaitinfo", "sleep",
    "splice", "sync", "sync_file_range", "syncfs", "syscall", "syslog", "system", "tcdrain", "tcsendbreak",
    "tee", "thrd_sleep", "usleep", "vdprintf", "vfprintf", "vfscanf", "vfwprintf", "vfwscanf", "vmsplice",
    "vprintf", "vscanf", "vsyslog", "vwarn", "vwarnx", "vwprintf", "vwscanf", "wait", "wait3", "wait4",
    "waitid", "waitpid", "warn", "warnx", "wprintf", "write", "writev", "wscanf",
];

/// libstdc++'s streams, as [`may_block`] means it.
#[rustfmt::skip]
const BLOCKING_PREFIXES: &[&str] = &[
    "_ZNSi", "_ZNSo", "_ZNSt13basic_filebuf", "_ZNSt13basic_istream", "_ZNSt13basic_ostream",
    "_ZNSt28__atomic_futex_unsigned_base19_M_futex_wait_until",
    "_ZSt16__ostream_insert", "_ZSt17__istream_extract", "_ZSt4endl", "_ZSt5flush", "_ZSt7getline", "_ZStls",
    "_ZStrs",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hooks::{CXX_HOOKS, HOOKS};

    #[test]
    fn tables_are_sorted_and_no_prefix_hides_another() {
        for table in [NAMES, PREFIXES, CALLBACK_IN_THREAD, BLOCKING, BLOCKING_PREFIXES] {
            for pair in table.windows(2) {
                assert!(pair[0] < pair[1], "{} before {}", pair[0], pair[1]);
            }
        }
        for pair in PREFIXES.windows(2).chain(BLOCKING_PREFIXES.windows(2)) {
            assert!(!pair[1].starts_with(pair[0]), "{} covers {}", pair[0], pair[1]);
        }
    }

    #[test]
    fn what_synchronizes_is_absent() {
        for hook in HOOKS.iter().chain(CXX_HOOKS) {
            assert!(!never_synchronizes(hook.replaces), "{}", hook.replaces);
        }
    }

    #[test]
    fn what_runs_a_callback_is_absent() {
        let takers = "qsort qsort_r bsearch lfind lsearch tsearch tfind tdelete twalk twalk_r tdestroy ftw nftw scandir \
                      scandirat glob dl_iterate_phdr dlopen dlclose raise kill timer_create mq_notify aio_read fts_open \
                      _Unwind_ForcedUnwind _Unwind_Backtrace __once_proxy _ZSt9call_once _ZNSt13__future_base \
                      _ZNSt5mutex4lockEv _ZNSt6threadC2 _ZNSt22condition_variable_any4waitI _ZSt4sort \
                      swapcontext setcontext pthread_cleanup_pop";
        for name in takers.split_whitespace() {
            assert!(!never_synchronizes(name), "{name}");
        }
    }

    #[test]
    fn common_calls_are_known_by_name_or_by_prefix() {
        let known = "malloc printf __printf_chk sinf sqrtl read nanosleep pthread_self __errno_location _Znwm \
                     __cxa_begin_catch _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE9_M_createERmm _ZNSolsEi \
                     _ZSt20__throw_length_errorPKc _ZNSt6chrono3_V212steady_clock3nowEv __asan_report_load8 \
                     _ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKc _ZSt9terminatev";
        for name in known.split_whitespace() {
            assert!(never_synchronizes(name), "{name}");
        }
        for name in ["", "mallo", "malloc2", "my_function", "_ZN3app4workEv", "_ZS"] {
            assert!(!never_synchronizes(name), "{name}");
        }
    }

    #[test]
    fn a_callback_of_atexit_is_no_thread_function() {
        assert!(keeps_callback_in_thread("__cxa_atexit"));
        assert!(!keeps_callback_in_thread("pthread_create"));
    }

    #[test]
    fn what_waits_for_the_world_may_block_and_hooks_do_not() {
        let blocking = "read write recvmsg accept4 poll select epoll_wait nanosleep usleep waitpid system flock fcntl \
                        fsync printf puts __printf_chk fgets getline sigwait pause msgrcv popen pclose syscall \
                        _ZNSolsEi _ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKc";
        for name in blocking.split_whitespace() {
            assert!(may_block(name), "{name}");
        }
        for name in [
            "",
            "malloc",
            "strlen",
            "sprintf",
            "snprintf",
            "my_read",
            "readdir2",
            "memcpy",
            "_ZNSs6appendEPKc",
        ] {
            assert!(!may_block(name), "{name}");
        }
        // The runtime sees those itself.
        for hook in HOOKS.iter().chain(CXX_HOOKS) {
            assert!(!may_block(hook.replaces), "{}", hook.replaces);
        }
    }
}
