# assay_replace_sources(room REPLACES a.cc SOURCES b.cc ...): the room's library is built from SOURCES
# instead of REPLACES, which says "not in this build".
function(assay_replace_sources room)
  cmake_parse_arguments(SWAP "" "" "REPLACES;SOURCES" ${ARGN})
  get_target_property(sources assay_${room} SOURCES)
  foreach(file ${SWAP_REPLACES})
    list(FILTER sources EXCLUDE REGEX "${file}$")
  endforeach()
  set_target_properties(assay_${room} PROPERTIES SOURCES "${sources}")
  target_sources(assay_${room} PRIVATE ${SWAP_SOURCES})
endfunction()
