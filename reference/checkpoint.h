// The routed experts of one MoE layer in a checkpoint: finds them in the layouts that people ship,
// gives the packed bytes of each (expert, projection) and their exact values. Layouts: one tensor
// for each expert; stacked [E, out, in] or [E, in, out], gate and up one after the other or in
// turn; [E * out, in]. Codings: checkpoint_coding.h.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "reference/checkpoint_coding.h"
#include "reference/layer_data.h"

namespace assay {

class CheckpointLayer {
 public:
  int experts = 0, hidden = 0, inter = 0;  // hidden: what the experts read, a latent size maybe
  bool gated = true;
  ExpertCoding coding;

  // The bytes as stored, in the packing that the container says; of a matrix that holds gate and
  // up, the rows of one. Throws UnsupportedProblem where a scale serves rows of both.
  Container Packed(int expert, Projection projection) const;
  // [outputs, inputs], exact.
  std::vector<double> Weights(int expert, Projection projection) const;
  // One value for each output, empty without a bias.
  std::vector<double> Bias(int expert, Projection projection) const;

 private:
  friend class Checkpoint;
  struct Rows {  // outputs first, first + step, ... of the stored matrix
    int first = 0, step = 1, count = 0;
  };

  StoredMatrix Stored(int expert, Projection projection) const;
  Rows RowsOf(Projection projection) const;
  void RequireExpert(int expert, Projection projection) const;
  void FindStackLayout();
  void FindExtents(int numbered);
  void CheckShapes() const;

  std::shared_ptr<const CheckpointFiles> files_;
  std::string prefix_;            // "model.layers.3.mlp.experts."
  std::string gate_, up_, down_;  // names after the prefix (and the expert's number)
  bool fused_ = false;            // gate_ and up_ are one matrix
  bool interleaved_ = false;      // gate outputs are the even rows of it
  bool stacked_ = false;
  bool input_first_ = false, down_input_first_ = false;
  int flat_ = 0;
  int zero_experts_ = 0;
};

class Checkpoint {
 public:
  // A folder or a safetensors file. Throws UsageError, UnsupportedProblem.
  explicit Checkpoint(const std::filesystem::path& where);

  // What the names of the experts' tensors begin with, "model.layers.3.mlp.experts.", sorted.
  const std::vector<std::string>& Layers() const { return layers_; }
  CheckpointLayer Layer(const std::string& prefix) const;

 private:
  std::shared_ptr<const CheckpointFiles> files_;
  std::vector<std::string> layers_;
};

}  // namespace assay
