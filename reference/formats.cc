#include "reference/formats.h"

#include "reference/tokens.h"

namespace assay {

std::optional<std::string> CannotCarry(Format format, int k_dim) {
  if (k_dim % WholeGroup(format) == 0) return std::nullopt;
  return "k_dim=" + std::to_string(k_dim) + ": " + std::string(Token(format)) +
         " needs a multiple of its group, " + std::to_string(GroupSize(format));
}

}  // namespace assay
