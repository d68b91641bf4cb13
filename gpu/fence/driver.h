// The driver's virtual-memory functions, resolved at run time: a build needs no driver.
#pragma once

#include <cuda.h>

namespace assay {

struct Driver {
  decltype(&cuMemGetAllocationGranularity) granularity = nullptr;
  decltype(&cuMemAddressReserve) reserve = nullptr;
  decltype(&cuMemAddressFree) free_address = nullptr;
  decltype(&cuMemCreate) create = nullptr;
  decltype(&cuMemRelease) release = nullptr;
  decltype(&cuMemMap) map = nullptr;
  decltype(&cuMemUnmap) unmap = nullptr;
  decltype(&cuMemSetAccess) set_access = nullptr;
  decltype(&cuGetErrorName) error_name = nullptr;
};

// Throws EnvironmentError that names the function that is missing.
const Driver& TheDriver();
void CheckDriver(CUresult result, const char* function);

}  // namespace assay
