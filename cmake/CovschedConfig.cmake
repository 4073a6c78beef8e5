# find_package(Covsched): covsched's plugin and runtime, for projects that compile with clang 16.
#
#   find_package(Covsched REQUIRED)     # CMAKE_PREFIX_PATH=.../target/install
#   covsched_enable(app worker_library) # executables, static, shared, module and object libraries
#
# Every part of the program that synchronizes must be enabled, and the executable too, even if none of its own code
# does: the hooks are in it. Targets: Covsched::plugin, Covsched::runtime.

cmake_minimum_required(VERSION 3.16)

get_filename_component(Covsched_LIBRARY_DIR "${CMAKE_CURRENT_LIST_DIR}/../../covsched" ABSOLUTE)
set(Covsched_PLUGIN "${Covsched_LIBRARY_DIR}/libcovsched.so")
set(Covsched_RUNTIME "${Covsched_LIBRARY_DIR}/libcovsched_rt.a")
set(Covsched_INTERPOSERS "${Covsched_LIBRARY_DIR}/covsched_interpose.o")

foreach(_covsched_file IN ITEMS "${Covsched_PLUGIN}" "${Covsched_RUNTIME}" "${Covsched_INTERPOSERS}")
  if(NOT EXISTS "${_covsched_file}")
    set(Covsched_FOUND FALSE)
    set(Covsched_NOT_FOUND_MESSAGE "${_covsched_file} is missing: run scripts/build")
    return()
  endif()
endforeach()

if(NOT TARGET Covsched::plugin)
  add_library(Covsched::plugin MODULE IMPORTED)
  set_target_properties(Covsched::plugin PROPERTIES IMPORTED_LOCATION "${Covsched_PLUGIN}")
  add_library(Covsched::runtime STATIC IMPORTED)
  set_target_properties(Covsched::runtime PROPERTIES IMPORTED_LOCATION "${Covsched_RUNTIME}")
endif()

# Refuses compilers that cannot load the plugin. Sets `result` if they are covsched's own, which need no flags.
function(_covsched_check_compilers result)
  set(own "")
  set(other "")
  foreach(language IN ITEMS C CXX)
    if(NOT CMAKE_${language}_COMPILER_LOADED)
      continue()
    endif()
    if(NOT CMAKE_${language}_COMPILER_ID STREQUAL "Clang" OR NOT CMAKE_${language}_COMPILER_VERSION MATCHES "^16\\.")
      message(FATAL_ERROR
        "covsched needs clang 16, but the ${language} compiler is ${CMAKE_${language}_COMPILER_ID} "
        "${CMAKE_${language}_COMPILER_VERSION} (${CMAKE_${language}_COMPILER}). "
        "Configure with -DCMAKE_C_COMPILER=clang-16 -DCMAKE_CXX_COMPILER=clang++-16.")
    endif()
    get_filename_component(name "${CMAKE_${language}_COMPILER}" NAME)
    if(name MATCHES "^covsched-c")
      list(APPEND own ${language})
    else()
      list(APPEND other ${language})
    endif()
  endforeach()
  # CMake gives what one compiler links by itself to the other one too: the runtime would come into shared objects.
  if(own AND other)
    message(FATAL_ERROR
      "covsched: the ${own} compiler is covsched's (${CMAKE_${own}_COMPILER}), and the ${other} compiler is not "
      "(${CMAKE_${other}_COMPILER}). Configure with covsched-cc and covsched-c++, or with clang-16 and clang++-16.")
  endif()
  if(own)
    set(${result} TRUE PARENT_SCOPE)
  else()
    set(${result} FALSE PARENT_SCOPE)
  endif()
endfunction()

# Schedules name lines, so each configuration has at least line tables. The last -g wins. Options of a target, also
# those in generator expressions, come after what is put before them; the flags of the configuration do not, so
# -gline-tables-only may be given only where they have no -g.
function(_covsched_add_line_tables target)
  set(configurations "${CMAKE_CONFIGURATION_TYPES}")
  if(NOT configurations)
    set(configurations "${CMAKE_BUILD_TYPE}")
  endif()
  set(added "")
  foreach(language IN ITEMS C CXX)
    if(CMAKE_${language}_FLAGS MATCHES "(^| )-g")
      continue()
    endif()
    set(is_language "$<COMPILE_LANGUAGE:${language}>")
    if(NOT configurations)
      list(APPEND added "$<${is_language}:-gline-tables-only>")
    endif()
    foreach(configuration IN LISTS configurations)
      string(TOUPPER "${configuration}" upper)
      if(NOT CMAKE_${language}_FLAGS_${upper} MATCHES "(^| )-g")
        list(APPEND added "$<$<AND:${is_language},$<CONFIG:${configuration}>>:-gline-tables-only>")
      endif()
    endforeach()
  endforeach()
  # Not by target_compile_options(BEFORE), which only appends under the policies of 3.16 (CMP0101).
  get_target_property(options ${target} COMPILE_OPTIONS)
  if(options)
    list(APPEND added ${options})
  endif()
  set_property(TARGET ${target} PROPERTY COMPILE_OPTIONS "${added}")
endfunction()

# Appends to `result` what a target and the libraries under it add to the link line. Generator expressions stay as
# they are.
function(_covsched_link_words result target)
  set(words "${${result}}")
  set(waiting "${target}")
  set(seen "")
  set(own LINK_OPTIONS LINK_FLAGS LINK_LIBRARIES)
  while(waiting)
    list(GET waiting 0 next)
    list(REMOVE_AT waiting 0)
    if(NOT TARGET "${next}" OR "${next}" IN_LIST seen)
      continue()
    endif()
    list(APPEND seen "${next}")
    foreach(property IN ITEMS ${own} INTERFACE_LINK_OPTIONS INTERFACE_LINK_LIBRARIES)
      get_target_property(value "${next}" ${property})
      if(value)
        list(APPEND words ${value})
        if(property MATCHES "LIBRARIES$")
          list(APPEND waiting ${value})
        endif()
      endif()
    endforeach()
    set(own "")
  endwhile()
  set(${result} "${words}" PARENT_SCOPE)
endfunction()

# Links covsched_interpose.o, in each configuration where it may be. Not in a static executable, which has no second
# definition to pass a call on to (runtime-lib/src/interpose.rs). Not with ThreadSanitizer: its own definitions must
# be the first. Where one of the two is asked for in a generator expression, it counts for all configurations.
function(_covsched_add_interposers target)
  set(words "")
  _covsched_link_words(words ${target})
  set(configurations "${CMAKE_CONFIGURATION_TYPES}")
  if(NOT configurations)
    set(configurations "${CMAKE_BUILD_TYPE}")
  endif()
  if(NOT configurations)
    set(configurations "NONE")
  endif()
  foreach(configuration IN LISTS configurations)
    string(TOUPPER "${configuration}" upper)
    get_target_property(own ${target} LINK_FLAGS_${upper})
    set(flags "${words};${own};${CMAKE_EXE_LINKER_FLAGS};${CMAKE_EXE_LINKER_FLAGS_${upper}}")
    foreach(language IN ITEMS C CXX)
      string(APPEND flags ";${CMAKE_${language}_FLAGS};${CMAKE_${language}_FLAGS_${upper}}")
    endforeach()
    # For the linker -static means something else.
    string(REPLACE "LINKER:-" "LINKER" flags "${flags}")
    if(flags MATCHES "(^|[ ;:])--?static(-pie)?($|[ ;>])" OR flags MATCHES "-fsanitize=[a-z,-]*thread")
      continue()
    endif()
    set(item "${Covsched_INTERPOSERS}")
    if(CMAKE_CONFIGURATION_TYPES)
      set(item "$<$<CONFIG:${configuration}>:${item}>")
    endif()
    set_property(TARGET ${target} APPEND PROPERTY LINK_LIBRARIES "${item}")
  endforeach()
endfunction()

# covsched_enable(target...): compiles the targets with the plugin, and links executables with the runtime.
function(covsched_enable)
  _covsched_check_compilers(own_compilers)
  foreach(target IN LISTS ARGN)
    if(NOT TARGET ${target})
      message(FATAL_ERROR "covsched_enable: there is no target ${target}")
    endif()
    get_target_property(type ${target} TYPE)
    get_target_property(imported ${target} IMPORTED)
    if(imported OR NOT type MATCHES "^(EXECUTABLE|(STATIC|SHARED|MODULE|OBJECT)_LIBRARY)$")
      message(FATAL_ERROR "covsched_enable: ${target} has nothing to compile")
    endif()
    get_target_property(enabled ${target} COVSCHED_ENABLED)
    if(own_compilers OR enabled)
      continue()
    endif()
    set_target_properties(${target} PROPERTIES COVSCHED_ENABLED TRUE)

    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:C,CXX>:-fpass-plugin=${Covsched_PLUGIN}>)
    _covsched_add_line_tables(${target})
    # A new plugin means new objects.
    get_target_property(sources ${target} SOURCES)
    foreach(source IN LISTS sources)
      set_property(SOURCE "${source}" APPEND PROPERTY OBJECT_DEPENDS "${Covsched_PLUGIN}")
    endforeach()

    # Libraries go into the property itself: target_link_libraries must keep to the signature, with PRIVATE or
    # without, that the project uses for the target. And by path: imported targets belong to one directory.
    if(type STREQUAL "EXECUTABLE")
      target_link_options(${target} PRIVATE "LINKER:-u,covsched_register" "LINKER:--export-dynamic-symbol=covsched_*")
      _covsched_add_interposers(${target})
      set_property(TARGET ${target} APPEND PROPERTY LINK_LIBRARIES "${Covsched_RUNTIME}")
    elseif(type MATCHES "^(SHARED|MODULE)_LIBRARY$")
      # Its hooks are in the executable, also where the project asks for objects without undefined symbols.
      target_link_options(${target} PRIVATE "LINKER:-z,undefs")
    endif()
  endforeach()
endfunction()
