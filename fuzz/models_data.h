// The text of fuzz/models.toml, compiled in.
#pragma once

namespace assay {

extern const char kModelsToml[];

}  // namespace assay
