#include "reference/formats.h"

#include "reference/tokens.h"

namespace assay {

std::optional<std::string> CannotCarry(Format format, int k_dim) {
  const bool whole_groups =
      IsFp4(format) || format == Format::kInt4G32 || format == Format::kInt4G128;
  if (!whole_groups || k_dim % GroupSize(format) == 0) return std::nullopt;
  return "k_dim=" + std::to_string(k_dim) + ": " + std::string(Token(format)) +
         " needs a multiple of its group, " + std::to_string(GroupSize(format));
}

}  // namespace assay
