#include <cuda_runtime_api.h>

#include <utility>

#include "gpu/cuda/cuda_memory.h"
#include "gpu/fence/driver.h"
#include "gpu/fence/fence_memory.h"

namespace assay {
namespace {

constexpr std::size_t kReservation = std::size_t{64} << 40;  // what one reservation may be, at most

CUmemAllocationProp Properties() {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  int device = 0;
  CheckCuda(cudaGetDevice(&device), "asking for the GPU");
  properties.location.id = device;
  return properties;
}

std::size_t RoundUp(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace

FenceMemory::FenceMemory() {
  CheckCuda(cudaFree(nullptr), "starting the CUDA context");
  const CUmemAllocationProp properties = Properties();
  CheckDriver(TheDriver().granularity(&granularity_, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
              "cuMemGetAllocationGranularity");
}

// Reserved addresses are the process's until its end: nothing may get them again.
FenceMemory::~FenceMemory() {
  for (const auto& [address, bytes] : maps_) TheDriver().unmap(address, bytes);
  for (const Handle& handle : handles_) {
    TheDriver().unmap(handle.alias, handle.bytes);
    TheDriver().release(handle.handle);
  }
}

CUdeviceptr FenceMemory::FreshAddress(std::size_t bytes) {
  if (reserved_ == 0 || next_ + kGuard + bytes + kGuard > reserved_ + kReservation) {
    CheckDriver(TheDriver().reserve(&reserved_, kReservation, granularity_, 0, 0),
                "cuMemAddressReserve");
    next_ = reserved_;
  }
  const CUdeviceptr address = next_ + kGuard;
  next_ = address + bytes;
  return address;
}

CUdeviceptr FenceMemory::MapAt(CUdeviceptr address, const Handle& handle, bool read_only) {
  CheckDriver(TheDriver().map(address, handle.bytes, 0, handle.handle, 0), "cuMemMap");
  CUmemAccessDesc access{};
  access.location = Properties().location;
  access.flags = read_only ? CU_MEM_ACCESS_FLAGS_PROT_READ : CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  CheckDriver(TheDriver().set_access(address, handle.bytes, &access, 1), "cuMemSetAccess");
  return address;
}

FenceMemory::Handle& FenceMemory::Take(std::size_t bytes) {
  const auto kept = free_.find(bytes);
  if (kept != free_.end()) {
    Handle* handle = kept->second;
    free_.erase(kept);
    taken_.push_back(handle);
    return *handle;
  }
  Handle& handle = handles_.emplace_back();
  handle.bytes = bytes;
  const CUmemAllocationProp properties = Properties();
  CheckDriver(TheDriver().create(&handle.handle, bytes, &properties, 0), "cuMemCreate");
  handle.alias = MapAt(FreshAddress(bytes), handle, false);
  taken_.push_back(&handle);
  return handle;
}

FenceMemory::Block FenceMemory::Map(std::size_t bytes, Side side, bool read_only, bool slack) {
  const std::size_t around = slack ? 2 * granularity_ : 0;
  const std::size_t mapped = RoundUp(bytes > 0 ? bytes : 1, granularity_) + around;
  const Handle& handle = Take(mapped);
  const CUdeviceptr address = MapAt(FreshAddress(mapped), handle, read_only);
  maps_.emplace_back(address, mapped);
  const std::size_t flush = side == Side::kBack ? mapped - bytes : 0;
  const std::size_t offset = slack ? granularity_ : flush;
  return {reinterpret_cast<std::byte*>(address + offset),
          reinterpret_cast<std::byte*>(handle.alias + offset),
          reinterpret_cast<std::byte*>(handle.alias), mapped};
}

void FenceMemory::Unmap() {
  CheckCuda(cudaDeviceSynchronize(), "waiting before the unmap");
  for (const auto& [address, bytes] : std::exchange(maps_, {}))
    CheckDriver(TheDriver().unmap(address, bytes), "cuMemUnmap");
  for (Handle* handle : std::exchange(taken_, {})) free_.emplace(handle->bytes, handle);
}

}  // namespace assay
