# Compiler flags, ccache, CUDA found or left out. Included once by the top level.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
find_program(ASSAY_CCACHE ccache)
if(ASSAY_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${ASSAY_CCACHE})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${ASSAY_CCACHE})
endif()

set(ASSAY_CUDA AUTO CACHE STRING "Build the CUDA executor: AUTO, ON or OFF")
set_property(CACHE ASSAY_CUDA PROPERTY STRINGS AUTO ON OFF)
set(ASSAY_CUDA_ARCH 90a CACHE STRING "CUDA architecture: native, 80, 90a, 100, 120")
option(ASSAY_TESTS "Build the tests" ON)

option(ASSAY_PORTABLE "Link all but libc, libm and libgomp statically: for a machine without our packages" OFF)
set(ASSAY_FMT fmt::fmt)
set(ASSAY_TOML tomlplusplus::tomlplusplus)
find_package(tomlplusplus REQUIRED)
if(ASSAY_PORTABLE)
  set(ASSAY_FMT fmt::fmt-header-only)
  set(ASSAY_TOML assay_toml)
  add_library(assay_toml INTERFACE)  # the headers of the package, without its library
  target_compile_definitions(assay_toml INTERFACE TOML_HEADER_ONLY=1)
  set(Boost_USE_STATIC_LIBS ON)
  add_link_options(-static-libstdc++ -static-libgcc)
endif()

find_package(OpenMP REQUIRED)
find_package(Eigen3 REQUIRED NO_MODULE)
find_package(Boost REQUIRED COMPONENTS context)
find_package(nlohmann_json REQUIRED)
find_package(fmt REQUIRED)
if(ASSAY_TESTS)
  find_package(GTest REQUIRED)
endif()
find_package(rapidcheck REQUIRED)

# The same bits on every machine: no contraction, no fast math, at link time neither (its start-up
# code sets flush-to-zero). -mfma where the processor has it: fmaf is then one instruction.
add_library(assay_flags INTERFACE)
target_include_directories(assay_flags INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                                                 $<INSTALL_INTERFACE:include/assay>)
# Here CMAKE_CXX_STANDARD says it; a project that uses the installed headers must hear it too.
target_compile_features(assay_flags INTERFACE $<INSTALL_INTERFACE:cxx_std_20>)
target_compile_options(assay_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>
  # Findings name the line of a kernel: "gpu/kernels/dot.h:17" wherever the project was built.
  $<BUILD_INTERFACE:$<$<COMPILE_LANGUAGE:CXX>:-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=>>
  $<BUILD_INTERFACE:$<$<COMPILE_LANGUAGE:CXX>:-Wall>>
  $<BUILD_INTERFACE:$<$<COMPILE_LANGUAGE:CXX>:-Wextra>>
  # GCC 12 warns falsely where a literal is added to a string (GCC bug 105651).
  $<BUILD_INTERFACE:$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict>>)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  target_compile_options(assay_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-mfma>)
endif()
if(CMAKE_CXX_FLAGS MATCHES "-ffast-math|-Ofast|-funsafe-math")
  message(FATAL_ERROR "CMAKE_CXX_FLAGS holds ${CMAKE_CXX_FLAGS}: fast math changes result bits; "
                      "remove it and configure again")
endif()

include(AssayCuda)
