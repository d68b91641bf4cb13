// Reader of safetensors files: 8 bytes little-endian header length, a JSON header, the data. The
// header is hostile input: every claim it makes is checked before it is used.
// Format: https://github.com/huggingface/safetensors (names, dtypes, data_offsets).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

struct TensorView {
  std::string dtype;                // "BF16", "F64", "U8", "F8_E4M3", ...
  std::vector<std::int64_t> shape;  // empty: a scalar
  std::span<const std::uint8_t> bytes;
  std::int64_t Count() const;
};

class Safetensors {
 public:
  // Maps the file, so that only what is read comes from the disk; the file must not shrink while it
  // is open. Throws UsageError that names the file, the tensor and the broken rule.
  static Safetensors Open(const std::filesystem::path& file);
  // The same from memory; `name` stands for the file in messages.
  static Safetensors Parse(std::vector<std::uint8_t> bytes, std::string name);

  const std::map<std::string, TensorView>& Tensors() const { return tensors_; }
  bool Has(std::string_view tensor) const { return tensors_.contains(std::string(tensor)); }

  // Throws UsageError if the tensor is absent or has another type.
  const TensorView& Get(std::string_view tensor) const;
  const TensorView& Get(std::string_view tensor, std::string_view dtype) const;

  // All values as doubles; BF16, F16, F32, F64 and the integer types, exact but for I64 beyond
  // 2^53.
  std::vector<double> Doubles(std::string_view tensor) const;

 private:
  static Safetensors ParseSpan(std::span<const std::uint8_t> bytes, std::string name);

  std::string name_;
  std::shared_ptr<const void> owner_;  // keeps `bytes` of all tensors alive
  std::map<std::string, TensorView> tensors_;
};

}  // namespace assay
