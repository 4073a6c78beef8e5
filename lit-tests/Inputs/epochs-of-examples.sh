#!/usr/bin/env bash
# Gives every example epoch markers and verifies the bound: `OPT PLUGIN CLANG EXAMPLES LEVEL DIRECTORY`.
# Prints a line for each; fails at the first that is not bounded.
set -euo pipefail
opt=$1 plugin=$2 clang=$3 examples=$4 level=$5 work=$6

pass() { # passes, module
  "$opt" -load-pass-plugin="$plugin" -passes="$1" -disable-output "$2"
}

all=0 unbounded=0
for source in "$examples"/*.c "$examples"/*.cpp "$examples"/*/*.c; do
  name=$(basename "$source")
  standard=()
  [[ $name != *.cpp ]] || standard=(-std=c++20)
  "$clang" "${standard[@]}" "$level" -gline-tables-only -pthread -emit-llvm -c "$source" -o "$work/$name.bc"
  for world in '' ';whole-program'; do
    options=${world#;}
    pass "epoch-markers<$options>,verify,verify<covsched-epochs$world>" "$work/$name.bc" || {
      echo "$name at $level${world:+ ($options)} is not bounded with markers" >&2
      exit 1
    }
  done
  # The check would be empty if it passed anyway.
  pass "verify<covsched-epochs>" "$work/$name.bc" 2> /dev/null || unbounded=$((unbounded + 1))
  all=$((all + 1))
  echo "$name: bounded"
done
echo "examples: $unbounded of $all are not bounded without markers"
