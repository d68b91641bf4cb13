// A finding for a person: a few aligned lines that end with the case line and the replay command.
#pragma once

#include <string>

#include "reports/finding.h"

namespace assay {

// Lines end with a newline. Control bytes in names (a candidate's kernel may be called anything)
// are shown as \xNN, so that a finding cannot move the terminal's cursor.
std::string FindingText(const Finding& finding);

}  // namespace assay
