// One block of memory that holds all tensors of a run, as an engine's arena does. Laid out twice by
// the same code: first to measure, then for real. Gaps and unfilled tensors keep the poison.
#pragma once

#include <cstring>
#include <deque>
#include <span>
#include <string>

#include "gpu/core/view.h"
#include "gpu/run/runner.h"

namespace assay {

// The pattern of the replay after one with `poison`: another one.
constexpr Poison OtherPoison(Poison poison) {
  return poison == Poison::kRandom ? Poison::kOnes : Poison::kRandom;
}

// Fills with the pattern; kRandom is a fixed stream, so that a run can be repeated.
void FillPoison(std::span<std::byte> bytes, Poison poison);

// A tensor in the arena: `values` to fill here (empty while measuring), `target` as kernels
// address it.
template <class T>
struct Placed {
  std::span<T> values;
  T* target = nullptr;
  Tag tag;

  template <bool kChecked>
  View<const T, kChecked> In() const {
    return {target, tag};
  }
  template <bool kChecked>
  View<T, kChecked> Out() const {
    return {target, tag};
  }
};

class Arena {
 public:
  static constexpr std::size_t kAlignment = 256;

  Arena() = default;  // measures only
  Arena(std::byte* image, std::byte* target) : image_(image), target_(target) {}

  template <class T>
  Placed<T> Place(std::string name, Index count, Placement placement = {}) {
    const std::size_t begin = used_;
    used_ += (count * sizeof(T) + kAlignment) / kAlignment * kAlignment;  // at least one gap byte
    names_.push_back(std::move(name));
    Placed<T> placed;
    placed.tag.name = names_.back().c_str();
    placed.tag.ordinal = static_cast<int>(names_.size()) - 1;
    placed.tag.extent = count;
    placed.tag.placement = placement;
    if (image_ == nullptr) return placed;
    placed.values = {reinterpret_cast<T*>(image_ + begin), static_cast<std::size_t>(count)};
    placed.target = reinterpret_cast<T*>(target_ + begin);
    return placed;
  }
  // A tensor within a block, at `offset` bytes, with its own name and extent.
  template <class T>
  Placed<T> Within(const Placed<std::byte>& block, Index offset, std::string name, Index count) {
    names_.push_back(std::move(name));
    Placed<T> placed;
    placed.tag.name = names_.back().c_str();
    placed.tag.ordinal = static_cast<int>(names_.size()) - 1;
    placed.tag.extent = count;
    if (block.target != nullptr) placed.target = reinterpret_cast<T*>(block.target + offset);
    return placed;
  }
  std::size_t Used() const { return used_; }
  // All that is placed from here on is scratch or output.
  void BeginScratch() { scratch_ = used_; }
  std::size_t ScratchBegin() const { return scratch_; }

 private:
  std::byte *image_ = nullptr, *target_ = nullptr;
  std::size_t used_ = 0, scratch_ = 0;
  std::deque<std::string> names_;
};

}  // namespace assay
