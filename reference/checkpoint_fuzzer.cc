// libFuzzer target: any safetensors file as a checkpoint. The first byte picks a config.json, the
// rest is the file. Every expert of every layer is read or refused by name, within 64 experts.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>

#include "reference/checkpoint.h"
#include "reference/error.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr const char* kConfigs[] = {
    "{}",
    R"({"quantization_config":{"quant_method":"modelopt","quant_algo":"NVFP4"}})",
    R"({"quantization_config":{"quant_method":"compressed-tensors","format":"nvfp4-pack-quantized"}})",
    R"({"model_type":"gpt_oss","quantization_config":{"quant_method":"mxfp4"}})",
    R"({"quantization_config":{"quant_method":"fp8","weight_block_size":[128,128]}})",
    R"({"quantization_config":{"quant_method":"fp8","weight_block_size":[1,1]}})",
    R"({"num_experts":8,"moe_intermediate_size":32})",
    R"({"quantization_config":{"quant_method":"fp8","ignore":["x"]}})"};

const fs::path& Folder() {
  static const fs::path folder = [] {
    const fs::path path = fs::temp_directory_path() / ("assay_fuzz_" + std::to_string(getpid()));
    fs::create_directories(path);
    return path;
  }();
  return folder;
}

void Write(const char* name, const char* bytes, std::size_t size) {
  std::ofstream(Folder() / name, std::ios::binary).write(bytes, std::streamsize(size));
}

void ReadAll(const Checkpoint& checkpoint, const std::string& prefix) {
  const CheckpointLayer layer = checkpoint.Layer(prefix);
  for (int expert = 0; expert < std::min(layer.experts, 64); ++expert)
    for (const Projection p : {Projection::kGate, Projection::kUp, Projection::kDown}) {
      if (p == Projection::kGate && !layer.gated) continue;
      const std::size_t size = std::size_t(layer.hidden) * std::size_t(layer.inter);
      if (layer.Weights(expert, p).size() != size) __builtin_trap();
      layer.Bias(expert, p);
      layer.Packed(expert, p);
    }
}

void Read(const fs::path& folder) {
  const Checkpoint checkpoint(folder);
  for (const std::string& prefix : checkpoint.Layers()) {
    try {
      ReadAll(checkpoint, prefix);
    } catch (const UsageError&) {
    } catch (const UnsupportedProblem&) {
    }
  }
}

}  // namespace
}  // namespace assay

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string config = assay::kConfigs[data[0] % std::size(assay::kConfigs)];
  assay::Write("config.json", config.data(), config.size());
  assay::Write("model.safetensors", reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    assay::Read(assay::Folder());
  } catch (const assay::UsageError&) {
  }
  return 0;
}
