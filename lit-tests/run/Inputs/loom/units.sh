# Links units_caller.c and units_callee.c in every way; each program must print what the native one does, on each path.
# usage: units.sh FOLDER-OF-COVSCHED INPUTS WORK
set -eu
cc=$1/covsched-cc inputs=$2 work=$3
rm -rf "$work" && mkdir -p "$work" && cd "$work"
clang-16 -O2 -pthread "$inputs/units_caller.c" "$inputs/units_callee.c" -w -o native
./native > wanted
object() { # name, compiler's arguments...
  local name=$1
  shift
  "$cc" "$@" -w -c "$inputs/units_caller.c" -o "caller.$name.o"
  "$cc" "$@" -w -c "$inputs/units_callee.c" -o "callee.$name.o"
}
programs=
link() { # name, arguments...
  local name=$1
  shift
  "$cc" --loom -pthread "$@" -o "$name"
  programs="$programs $name"
}
object plain -O2
object loom --loom -O2
object unoptimized --loom -O0
object named --loom=no-direct -O2
object precise --loom=precise -O2
object sections --loom -O2 -ffunction-sections
object fixed --loom -O2 -fno-pie
object shared --loom -O2 -fPIC
object lto --loom -O2 -flto
for caller in plain loom unoptimized named precise; do
  for callee in plain loom unoptimized named precise; do
    link "$caller-$callee" "caller.$caller.o" "callee.$callee.o"
  done
done
ar crs libcallee.a callee.loom.o
link archive caller.loom.o libcallee.a
link sections caller.sections.o callee.sections.o -Wl,--gc-sections
link lld caller.loom.o callee.sections.o -fuse-ld=lld -Wl,--gc-sections
link fixed caller.fixed.o callee.fixed.o -no-pie
link static caller.fixed.o callee.fixed.o -static
"$cc" --loom -shared callee.shared.o -o libcallee.so
link dynamic caller.loom.o -L. -lcallee -Wl,-rpath,"$PWD" -rdynamic
link lto caller.lto.o callee.lto.o -flto -fuse-ld=lld
link half-lto caller.lto.o callee.loom.o -flto -fuse-ld=lld
count=0
for program in $programs; do
  for options in "" loom=on:loom-switch=slow "loom=on:loom-switch='random:1'" "loom=on:loom-switch='random:2'" \
    "loom=on:loom-membarrier=0:loom-switch='random:3'"; do
    COVSCHED_OPTIONS=$options "./$program" > got 2> said || { echo "$program $options: exit $?"; cat said; exit 1; }
    cmp got wanted || { echo "$program $options"; exit 1; }
    [ ! -s said ] || { echo "$program $options:"; cat said; exit 1; }
    count=$((count + 1))
  done
done
echo "$count runs, all the same"
