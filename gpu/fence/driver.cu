#include <cuda_runtime_api.h>

#include <string>

#include "gpu/fence/driver.h"
#include "reference/error.h"

namespace assay {
namespace {

template <class Function>
void Find(const char* name, Function& function) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult status{};
  constexpr unsigned kVersion = 12000;  // of the functions' signatures
  if (cudaGetDriverEntryPointByVersion(name, &found, kVersion, cudaEnableDefault, &status) !=
          cudaSuccess ||
      found == nullptr)
    throw EnvironmentError(std::string("CUDA driver: has no ") + name +
                           "; the fence needs driver 525 or newer");
  function = reinterpret_cast<Function>(found);
}

Driver Resolve() {
  Driver driver;
  Find("cuMemGetAllocationGranularity", driver.granularity);
  Find("cuMemAddressReserve", driver.reserve);
  Find("cuMemAddressFree", driver.free_address);
  Find("cuMemCreate", driver.create);
  Find("cuMemRelease", driver.release);
  Find("cuMemMap", driver.map);
  Find("cuMemUnmap", driver.unmap);
  Find("cuMemSetAccess", driver.set_access);
  Find("cuGetErrorName", driver.error_name);
  return driver;
}

}  // namespace

const Driver& TheDriver() {
  static const Driver driver = Resolve();
  return driver;
}

void CheckDriver(CUresult result, const char* function) {
  if (result == CUDA_SUCCESS) return;
  const char* name = "an unknown error";
  TheDriver().error_name(result, &name);
  throw EnvironmentError(std::string("CUDA driver: ") + function + " gave " + name);
}

}  // namespace assay
