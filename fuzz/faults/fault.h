// Planted faults: wrong kernels, built from other policies, that the gate must find by name.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "fuzz/case.h"

namespace assay {

struct Fault {
  std::string name;           // "k3_e8m0_unguarded"
  std::string error_class;    // class of faults it stands for, e.g. "scale group size mixed up"
  std::string check;          // the check that must find it; a hit by another does not count
  std::string what;           // one line: what the fault does
  std::vector<PathId> paths;  // paths it can be planted in
  Case smallest;              // the case on which the gate proves it
};

const std::vector<Fault>& Faults();             // sorted by name
const Fault* FindFault(std::string_view name);  // null: no such fault
// Whether the fault can show on this problem at all (format, layout, shape).
bool Applies(const Fault& fault, PathId path, const Problem& problem);
std::unique_ptr<Runner> MakeFaultRunner(const Fault& fault, PathId path, Device device,
                                        int threads);

}  // namespace assay
