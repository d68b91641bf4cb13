# Expert parallel over MPI processes. AUTO leaves it out with a message when there is no MPI: ranks
# are then threads of one process.
set(ASSAY_MPI AUTO CACHE STRING "Ranks as MPI processes: AUTO, ON or OFF")
set_property(CACHE ASSAY_MPI PROPERTY STRINGS AUTO ON OFF)
set(ASSAY_HAS_MPI OFF)
if(NOT ASSAY_MPI STREQUAL "OFF" AND NOT ASSAY_PORTABLE)
  find_package(MPI COMPONENTS CXX QUIET)
  set(ASSAY_HAS_MPI ${MPI_CXX_FOUND})
  if(NOT ASSAY_HAS_MPI AND ASSAY_MPI STREQUAL "ON")
    message(FATAL_ERROR "ASSAY_MPI=ON but no MPI was found; install libopenmpi-dev and openmpi-bin "
                        "or configure with ASSAY_MPI=OFF")
  endif()
endif()
if(ASSAY_HAS_MPI)
  message(STATUS "MPI ${MPI_CXX_VERSION}")
else()
  message(STATUS "MPI left out: ranks of expert parallel are threads")
endif()

# assay_mpi_sources(room REPLACES a.cc SOURCES b.cc): with MPI the room's library is built from
# SOURCES instead of REPLACES, which says "not in this build".
function(assay_mpi_sources room)
  if(NOT ASSAY_HAS_MPI)
    return()
  endif()
  assay_replace_sources(${room} ${ARGN})
  # The C interface alone: the C++ bindings are long gone from the standard.
  target_compile_definitions(assay_${room} PRIVATE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
  target_link_libraries(assay_${room} PUBLIC MPI::MPI_CXX)
endfunction()
