// Values of RapidCheck generators from an explicit random state: no global seed, no RC_PARAMS, safe
// in several threads (rc::gen::exec keeps its state in globals and is not).
#pragma once

#include <rapidcheck.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace assay {

template <typename T>
struct Weighted {
  std::size_t weight;
  T value;
};

class Draw {
 public:
  explicit Draw(const rc::Random& random) : random_(random) {}

  template <typename T>
  T operator()(const rc::Gen<T>& gen) {
    return gen(random_.split()).value();
  }

  // One of the values, each as often as its weight says.
  template <typename T>
  T Of(const std::vector<Weighted<T>>& choices) {
    std::size_t sum = 0;
    for (const auto& choice : choices) sum += choice.weight;
    std::size_t at = (*this)(rc::gen::inRange<std::size_t>(0, sum));
    for (const auto& choice : choices) {
      if (at < choice.weight) return choice.value;
      at -= choice.weight;
    }
    return choices.back().value;
  }

  int Between(int low, int high) { return (*this)(rc::gen::inRange(low, high + 1)); }
  bool Percent(int chance) { return Between(1, 100) <= chance; }

 private:
  rc::Random random_;
};

}  // namespace assay
