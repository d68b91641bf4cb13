// How the routed experts of a checkpoint are quantised: which tensors beside the codes, and what
// they mean. The quantisation config decides; where it is silent, the tensors' names do.
#pragma once

#include <string>

#include "reference/checkpoint_files.h"
#include "reference/containers.h"

namespace assay {

enum class Coding { kPlain, kModeloptNvfp4, kCompressedNvfp4, kMxfp4Blocks, kScaleInv };

struct ExpertCoding {
  Coding coding = Coding::kPlain;
  int block_rows = 128, block_columns = 128;  // of kScaleInv
  std::string said_by;                        // "quantization_config" or "tensor names"
};

// `matrix` is the name of some expert's matrix without suffix: "...experts.0.up_proj" or
// "...experts.gate_up_proj". Throws UnsupportedProblem for a method that is not built.
ExpertCoding DecideCoding(const CheckpointFiles& files, const std::string& matrix);

// Whether a name is the codes of a matrix, and the matrix' name; "" if it is not.
std::string MatrixOfCodes(const std::string& tensor);

// A matrix as it is stored. `stacked`: the tensor holds one for each expert; `flat` > 0: so many,
// below each other in two dimensions. `input_first`: [inputs, outputs] (plain codes only).
struct StoredMatrix {
  std::string name;
  bool stacked = false, input_first = false;
  int flat = 0;
};
// Throws UsageError for wrong types, shapes and scales.
Container ReadContainer(const CheckpointFiles& files, const ExpertCoding& coding,
                        const StoredMatrix& matrix, int expert);
// Extents of the codes' tensor, in weights: [experts,] outputs, inputs as stored.
std::vector<std::int64_t> WeightShape(const CheckpointFiles& files, const ExpertCoding& coding,
                                      const StoredMatrix& matrix);

}  // namespace assay
