#include "gpu/run/record_bytes.h"

#include <cstring>
#include <string>
#include <type_traits>

#include "reference/error.h"

namespace assay {
namespace {

template <class T>
concept Plain = std::is_arithmetic_v<T> || std::is_enum_v<T>;

// One list of fields serves both directions: `archive(field)` writes or reads it.
template <class Archive>
void Fields(Archive& archive, Dim3& value) {
  archive(value.x, value.y, value.z);
}
template <class Archive>
void Fields(Archive& archive, LaunchInfo& value) {
  archive(value.kernel, value.grid, value.threads, value.shared_bytes, value.registers);
}
template <class Archive>
void Fields(Archive& archive, AccessFault& value) {
  archive(value.kind, value.kernel, value.tensor, value.byte, value.extent, value.bytes);
  archive(value.weight.row, value.weight.column, value.owner_byte, value.block, value.thread);
  archive(value.line, value.rank, value.file);
}
template <class Archive>
void Fields(Archive& archive, SyncFaultInfo& value) {
  archive(value.kernel, value.kind, value.block, value.thread, value.line, value.other_line);
}
template <class Archive>
void Fields(Archive& archive, KindTotals& value) {
  archive(value.count, value.lowest_byte, value.first);
}
template <class Archive>
void Fields(Archive& archive, ScaleReads& value) {
  archive(value.projection, value.expert, value.tensor, value.read);
}
template <class Archive>
void Fields(Archive& archive, RankDifference& value) {
  archive(value.rank, value.what, value.index);
}
template <class Archive>
void Fields(Archive& archive, StageBits& value) {
  archive(value.logits, value.logits_fp32, value.gate, value.up, value.down);
  archive(value.shared_gate, value.shared_up, value.shared_down);
}
template <class Archive>
void Fields(Archive& archive, RunRecord& value) {
  archive(value.launches, value.output, value.ids, value.weights, value.identity_weights);
  archive(value.stages);
  archive(value.distinct_experts, value.first_replay, value.rank_differences, value.checked);
  for (KindTotals& totals : value.faults) archive(totals);
  archive(value.sync_faults, value.has_ledger, value.scale_reads);
}

class Writer {
 public:
  template <class... T>
  void operator()(T&... values) {
    (Write(values), ...);
  }
  std::vector<std::byte> Take() { return std::move(bytes_); }

 private:
  void Append(const void* data, std::size_t size) {
    const auto* begin = static_cast<const std::byte*>(data);
    bytes_.insert(bytes_.end(), begin, begin + size);
  }
  template <Plain T>
  void Write(T& value) {
    Append(&value, sizeof(T));
  }
  void Write(std::string& value) {
    std::uint64_t size = value.size();
    Write(size);
    Append(value.data(), size);
  }
  template <class T>
  void Write(std::vector<T>& values) {
    std::uint64_t size = values.size();
    Write(size);
    if constexpr (Plain<T>)
      Append(values.data(), size * sizeof(T));
    else
      for (T& value : values) Write(value);
  }
  template <class T>
  void Write(T& value) {
    Fields(*this, value);
  }

  std::vector<std::byte> bytes_;
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : rest_(bytes) {}

  template <class... T>
  void operator()(T&... values) {
    (Read(values), ...);
  }
  void RequireEnd() const {
    if (!rest_.empty()) Fail("goes on after its end");
  }

 private:
  [[noreturn]] static void Fail(const std::string& how) {
    throw EnvironmentError("run record of another process: " + how +
                           "; it may have died, or be of another build");
  }
  void Take(void* to, std::size_t size) {
    if (size > rest_.size()) Fail("is cut off");
    if (size > 0) std::memcpy(to, rest_.data(), size);
    rest_ = rest_.subspan(size);
  }
  // Every element takes at least one byte, so that a lying length cannot ask for all memory.
  std::size_t Length(std::size_t element) {
    std::uint64_t size = 0;
    Read(size);
    if (size > rest_.size() / element) Fail("names a length that it does not have");
    return static_cast<std::size_t>(size);
  }
  template <Plain T>
  void Read(T& value) {
    Take(&value, sizeof(T));
  }
  void Read(bool& value) {
    std::uint8_t byte = 0;
    Take(&byte, 1);
    value = byte != 0;
  }
  void Read(std::string& value) {
    value.resize(Length(1));
    Take(value.data(), value.size());
  }
  template <class T>
  void Read(std::vector<T>& values) {
    values.resize(Length(Plain<T> ? sizeof(T) : 1));
    if constexpr (Plain<T>)
      Take(values.data(), values.size() * sizeof(T));
    else
      for (T& value : values) Read(value);
  }
  template <class T>
  void Read(T& value) {
    Fields(*this, value);
  }

  std::span<const std::byte> rest_;
};

}  // namespace

std::vector<std::byte> ToBytes(const RunRecord& record) {
  Writer writer;
  writer(const_cast<RunRecord&>(record));  // writing changes nothing: one list of fields for both
  return writer.Take();
}

RunRecord RunRecordFromBytes(std::span<const std::byte> bytes) {
  RunRecord record;
  Reader reader(bytes);
  reader(record);
  reader.RequireEnd();
  return record;
}

}  // namespace assay
