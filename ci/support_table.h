// The support matrix of gpu/dispatch/support_matrix.h, for people and for programs.
#pragma once

#include <string>

namespace assay {

enum class MatrixFormat { kText, kJson, kMarkdown };

// All paths. Text and Markdown give each path's own decision (where that is batched, its rows say
// the rest) and end with the number of combinations by kind of answer; JSON follows fallbacks to
// their end.
std::string SupportMatrixText(MatrixFormat format);

}  // namespace assay
