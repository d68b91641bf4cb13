#include "reference/safetensors.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "reference/bf16.h"
#include "reference/error.h"
#include "reference/safetensors_header.h"
#include "reference/small_float.h"

namespace assay {
namespace {

constexpr std::uint64_t kMaxHeader = 100'000'000;  // as the reference implementation
constexpr std::uint64_t kMaxElements = std::uint64_t{1} << 40;

struct Dtype {
  const char* name;
  std::uint64_t bytes;
};
constexpr std::array<Dtype, 16> kDtypes{{{"BOOL", 1},
                                         {"U8", 1},
                                         {"I8", 1},
                                         {"F8_E4M3", 1},
                                         {"F8_E5M2", 1},
                                         {"F8_E8M0", 1},
                                         {"I16", 2},
                                         {"U16", 2},
                                         {"F16", 2},
                                         {"BF16", 2},
                                         {"I32", 4},
                                         {"U32", 4},
                                         {"F32", 4},
                                         {"F64", 8},
                                         {"I64", 8},
                                         {"U64", 8}}};

// Carries the file's name into every message.
struct Checker {
  const std::string& file;

  [[noreturn]] void Fail(const std::string& what) const { throw UsageError(file + ": " + what); }
  [[noreturn]] void Fail(const HeaderEntry& entry, const std::string& what) const {
    Fail("tensor \"" + entry.name + "\": " + what);
  }

  std::uint64_t ElementBytes(const HeaderEntry& entry) const {
    for (const Dtype& dtype : kDtypes)
      if (entry.dtype == dtype.name) return dtype.bytes;
    Fail(entry, "dtype \"" + entry.dtype + "\" is not known");
  }

  std::uint64_t Count(const HeaderEntry& entry) const {
    if (std::count(entry.shape.begin(), entry.shape.end(), 0u) > 0) return 0;
    std::uint64_t count = 1;
    for (const std::uint64_t extent : entry.shape) {
      if (extent > kMaxElements / count) Fail(entry, "the shape is too large");
      count *= extent;
    }
    return count;
  }

  void CheckOffsets(const HeaderEntry& entry, std::uint64_t data_bytes) const {
    const std::uint64_t begin = entry.offsets[0], end = entry.offsets[1];
    if (begin > end || end > data_bytes)
      Fail(entry, "data_offsets [" + std::to_string(begin) + ", " + std::to_string(end) +
                      "] leave the " + std::to_string(data_bytes) + " bytes of data");
    const std::uint64_t needed = Count(entry) * ElementBytes(entry);
    if (end - begin != needed)
      Fail(entry, "data_offsets hold " + std::to_string(end - begin) + " bytes, shape and dtype " +
                      std::to_string(needed));
  }

  // Tensors may come in any order but must follow each other without holes, as the format demands.
  void CheckCover(std::vector<HeaderEntry> entries, std::uint64_t data_bytes) const {
    std::sort(entries.begin(), entries.end(),
              [](const auto& a, const auto& b) { return a.offsets < b.offsets; });
    std::uint64_t at = 0;
    for (const HeaderEntry& entry : entries) {
      if (entry.offsets[0] < at) Fail(entry, "overlaps the tensor before it");
      if (entry.offsets[0] > at) Fail(entry, "leaves a hole before it");
      at = entry.offsets[1];
    }
    if (at != data_bytes)
      Fail("data: " + std::to_string(data_bytes - at) + " bytes belong to no tensor");
  }
};

std::uint64_t LittleEndian64(const std::uint8_t* bytes) {
  std::uint64_t value = 0;
  for (int i = 7; i >= 0; --i) value = value << 8 | bytes[i];
  return value;
}

std::uint64_t HeaderLength(std::span<const std::uint8_t> bytes, const Checker& check) {
  if (bytes.size() < 8) check.Fail("header: the file has fewer than 8 bytes");
  const std::uint64_t length = LittleEndian64(bytes.data());
  if (length > kMaxHeader) check.Fail("header: " + std::to_string(length) + " bytes are too many");
  if (length > bytes.size() - 8)
    check.Fail("header: claims " + std::to_string(length) + " bytes, the file has " +
               std::to_string(bytes.size() - 8));
  return length;
}

// A file in memory, read-only.
class Mapping {
 public:
  explicit Mapping(const std::string& file) {
    const int descriptor = open(file.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat status {};
    const bool regular =
        descriptor >= 0 && fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
    if (regular && status.st_size > 0) {
      size_ = static_cast<std::size_t>(status.st_size);
      start_ = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor, 0);
    }
    if (descriptor >= 0) close(descriptor);
    if (!regular || start_ == MAP_FAILED) throw UsageError(file + ": cannot be read");
  }
  ~Mapping() {
    if (start_ != nullptr) munmap(start_, size_);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  std::span<const std::uint8_t> Bytes() const {
    return {static_cast<const std::uint8_t*>(start_), size_};
  }

 private:
  void* start_ = nullptr;
  std::size_t size_ = 0;
};

template <class Word>
std::vector<double> Widen(std::span<const std::uint8_t> bytes, double (*convert)(Word)) {
  std::vector<double> values(bytes.size() / sizeof(Word));
  for (std::size_t i = 0; i < values.size(); ++i) {
    Word word;
    std::memcpy(&word, bytes.data() + i * sizeof(Word), sizeof(Word));
    values[i] = convert(word);
  }
  return values;
}

template <class Word>
double AsIs(Word word) {
  return static_cast<double>(word);
}
double FromBf16(std::uint16_t bits) { return Bf16ToFloat(bits); }
double FromFp16(std::uint16_t bits) { return Fp16::Decode(bits); }

}  // namespace

std::int64_t TensorView::Count() const {
  // The reader has bounded the product, but an extent of zero bounds nothing.
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return count;
}

Safetensors Safetensors::Open(const std::filesystem::path& file) {
  const auto mapping = std::make_shared<const Mapping>(file.string());
  Safetensors result = ParseSpan(mapping->Bytes(), file.string());
  result.owner_ = mapping;
  return result;
}

Safetensors Safetensors::Parse(std::vector<std::uint8_t> bytes, std::string name) {
  const auto owner = std::make_shared<const std::vector<std::uint8_t>>(std::move(bytes));
  Safetensors result = ParseSpan(*owner, std::move(name));
  result.owner_ = owner;
  return result;
}

Safetensors Safetensors::ParseSpan(std::span<const std::uint8_t> bytes, std::string name) {
  Safetensors result;
  result.name_ = std::move(name);
  const Checker check{result.name_};
  const std::uint64_t header = HeaderLength(bytes, check);
  const char* json = reinterpret_cast<const char*>(bytes.data()) + 8;
  const auto entries = ParseHeader({json, header}, result.name_);
  const auto data = bytes.subspan(8 + header);
  for (const HeaderEntry& entry : entries) {
    check.CheckOffsets(entry, data.size());
    result.tensors_[entry.name] = {
        entry.dtype,
        {entry.shape.begin(), entry.shape.end()},
        data.subspan(entry.offsets[0], entry.offsets[1] - entry.offsets[0])};
  }
  check.CheckCover(entries, data.size());
  return result;
}

const TensorView& Safetensors::Get(std::string_view tensor) const {
  const auto found = tensors_.find(std::string(tensor));
  if (found == tensors_.end())
    throw UsageError(name_ + ": tensor \"" + std::string(tensor) + "\" is absent");
  return found->second;
}

const TensorView& Safetensors::Get(std::string_view tensor, std::string_view dtype) const {
  const TensorView& view = Get(tensor);
  if (view.dtype != dtype)
    throw UsageError(name_ + ": tensor \"" + std::string(tensor) + "\": dtype is " + view.dtype +
                     ", " + std::string(dtype) + " is needed");
  return view;
}

std::vector<double> Safetensors::Doubles(std::string_view tensor) const {
  const TensorView& view = Get(tensor);
  if (view.dtype == "F64") return Widen<double>(view.bytes, AsIs);
  if (view.dtype == "F32") return Widen<float>(view.bytes, AsIs);
  if (view.dtype == "BF16") return Widen<std::uint16_t>(view.bytes, FromBf16);
  if (view.dtype == "F16") return Widen<std::uint16_t>(view.bytes, FromFp16);
  if (view.dtype == "I64") return Widen<std::int64_t>(view.bytes, AsIs);
  if (view.dtype == "I32") return Widen<std::int32_t>(view.bytes, AsIs);
  if (view.dtype == "U8") return Widen<std::uint8_t>(view.bytes, AsIs);
  throw UsageError(name_ + ": tensor \"" + std::string(tensor) + "\": dtype " + view.dtype +
                   " has no plain value");
}

}  // namespace assay
