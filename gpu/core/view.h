// Tensors as kernels see them. Unchecked: a pointer. Checked: every access is judged against the
// tensor's extent and, where the kernel says which weight it reads for, against the layer's
// placement of that weight; scale tensors also keep a ledger of what was read.
#pragma once

#include <algorithm>
#include <bit>
#include <type_traits>

#include "gpu/core/context.h"

namespace assay {

struct Tag {
  const char* name = "";
  int ordinal = 0;                 // placement order
  Index extent = 0;                // elements
  Index offset = 0;                // of a part within its tensor, elements
  Placement placement;             // of the units, where weights own them
  std::uint8_t* ledger = nullptr;  // one flag an element, host only
  bool unrouted = false;           // weights of an expert that no admissible routing can choose
};

// What a refused read returns: all bits set (a NaN in every float format), or an empty struct.
template <class T>
constexpr T PoisonValue() {
  if constexpr (sizeof(T) == 1) return std::bit_cast<T>(std::uint8_t{0xFF});
  if constexpr (sizeof(T) == 2) return std::bit_cast<T>(std::uint16_t{0xFFFF});
  if constexpr (sizeof(T) == 4) return std::bit_cast<T>(~std::uint32_t{0});
  if constexpr (sizeof(T) > 4) return T{};
}

// Where in a kernel an access was written.
struct Source {
  const char* file;
  int line;
};

template <class T, bool kChecked>
class View;

template <class T>
class View<T, false> {
 public:
  using Value = std::remove_const_t<T>;

  constexpr View() = default;
  constexpr View(T* data, const Tag&) : data_(data) {}

  constexpr Value Load(Context auto&, Index index) const { return data_[index]; }
  constexpr Value LoadFor(Context auto&, WeightAt, Index index) const { return data_[index]; }
  constexpr void Store(Context auto&, Index index, Value value) const { data_[index] = value; }
  constexpr float AtomicAdd(Context auto& context, Index index, float value) const {
    return context.AtomicAdd(data_ + index, value);
  }
  // Elements [begin, begin + count).
  constexpr View Part(Index begin, Index) const { return View(data_ + begin, {}); }
  constexpr T* Data() const { return data_; }

 private:
  T* data_ = nullptr;
};

template <class T>
class View<T, true> {
 public:
  using Value = std::remove_const_t<T>;

  constexpr View() = default;
  constexpr View(T* data, const Tag& tag) : data_(data), tag_(tag) {}

  constexpr Value Load(Context auto& context, Index index, const char* file = __builtin_FILE(),
                       int line = __builtin_LINE()) const {
    return LoadFor(context, {}, index, file, line);
  }
  constexpr Value LoadFor(Context auto& context, WeightAt weight, Index index,
                          const char* file = __builtin_FILE(), int line = __builtin_LINE()) const {
    if (!Holds(index)) {
      Report(context, AccessKind::kReadOutside, weight, index, {file, line});
      return PoisonValue<Value>();
    }
    if (tag_.unrouted) Report(context, AccessKind::kUnrouted, weight, index, {file, line});
    if (!Owns(weight, index)) Report(context, AccessKind::kWrongOwner, weight, index, {file, line});
    context.NoteRead(tag_.ledger, index);
    return data_[index];
  }
  constexpr void Store(Context auto& context, Index index, Value value,
                       const char* file = __builtin_FILE(), int line = __builtin_LINE()) const {
    if (Holds(index))
      data_[index] = value;
    else
      Report(context, AccessKind::kWriteOutside, {}, index, {file, line});
  }
  constexpr float AtomicAdd(Context auto& context, Index index, float value,
                            const char* file = __builtin_FILE(),
                            int line = __builtin_LINE()) const {
    if (Holds(index)) return context.AtomicAdd(data_ + index, value);
    Report(context, AccessKind::kWriteOutside, {}, index, {file, line});
    return PoisonValue<float>();
  }
  // At most what the tensor has: a part never reaches further than its whole.
  constexpr View Part(Index begin, Index count) const {
    View part = *this;
    part.data_ += begin;
    part.tag_.offset += begin;
    part.tag_.extent = std::clamp<Index>(tag_.extent - begin, 0, count);
    return part;
  }
  constexpr T* Data() const { return data_; }
  constexpr const Tag& tag() const { return tag_; }

 private:
  // Who reads a weight's unit must say for which weight.
  constexpr bool Owns(WeightAt weight, Index index) const {
    if (tag_.placement.row_stride == 0) return true;  // no weights in here
    return weight.row >= 0 && tag_.placement.UnitOf(weight) == index;
  }
  constexpr bool Holds(Index index) const { return index >= 0 && index < tag_.extent; }
  constexpr void Report(Context auto& context, AccessKind kind, WeightAt weight, Index index,
                        const Source& source) const {
    const Index owner = weight.row >= 0 ? tag_.placement.UnitOf(weight) : -1;
    context.Report(Fault{kind,
                         tag_.name,
                         tag_.ordinal,
                         tag_.offset + index,
                         tag_.offset + tag_.extent,
                         owner,
                         sizeof(T),
                         source.file,
                         source.line,
                         weight,
                         {},
                         0});
  }

  T* data_ = nullptr;
  Tag tag_;
};

}  // namespace assay
