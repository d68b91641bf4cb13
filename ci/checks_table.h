// The checks, the level that each belongs to, and what each sees.
#pragma once

#include "ci/table.h"

namespace assay {

Table ChecksTable();

}  // namespace assay
