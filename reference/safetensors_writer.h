// Writes small safetensors files for tests.
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "reference/safetensors.h"

namespace assay {

class SafetensorsWriter {
 public:
  void Add(const std::string& name, const std::string& dtype, std::vector<std::int64_t> shape,
           std::vector<std::uint8_t> bytes) {
    header_[name] = {{"dtype", dtype},
                     {"shape", std::move(shape)},
                     {"data_offsets", {data_.size(), data_.size() + bytes.size()}}};
    data_.insert(data_.end(), bytes.begin(), bytes.end());
  }
  // A copy under another name; `part` of `parts` along the first dimension, which then goes.
  void Add(const std::string& name, const TensorView& view, int part = 0, int parts = 1) {
    const std::size_t size = view.bytes.size() / std::size_t(parts);
    const auto bytes = view.bytes.subspan(size * std::size_t(part), size);
    std::vector<std::int64_t> shape = view.shape;
    if (parts > 1) shape.erase(shape.begin());
    Add(name, view.dtype, std::move(shape), {bytes.begin(), bytes.end()});
  }
  // A float in one element.
  void AddFloat(const std::string& name, float value) {
    std::vector<std::uint8_t> bytes(4);
    std::memcpy(bytes.data(), &value, 4);
    Add(name, "F32", {}, std::move(bytes));
  }

  std::vector<std::uint8_t> Bytes() const {
    const std::string header = header_.dump();
    std::vector<std::uint8_t> bytes;
    for (int i = 0; i < 8; ++i)
      bytes.push_back(static_cast<std::uint8_t>(header.size() >> (8 * i)));
    bytes.insert(bytes.end(), header.begin(), header.end());
    bytes.insert(bytes.end(), data_.begin(), data_.end());
    return bytes;
  }
  void Write(const std::filesystem::path& file) const {
    const std::vector<std::uint8_t> bytes = Bytes();
    std::ofstream(file, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), std::streamsize(bytes.size()));
  }

 private:
  nlohmann::json header_ = nlohmann::json::object();
  std::vector<std::uint8_t> data_;
};

}  // namespace assay
