// Runs the ranks of an expert-parallel step and makes one record of theirs.
#pragma once

#include <functional>

#include "gpu/run/communicator.h"
#include "gpu/run/run_record.h"
#include "reference/expert_parallel.h"

namespace assay {

// One rank's place in the step. The default is a step without expert parallel.
struct Seat {
  int rank = 0;
  const ExpertMap* experts = nullptr;  // null: this rank holds every expert
  Communicator* communicator = nullptr;

  bool Holds(int expert) const { return experts == nullptr || experts->RankOf(expert) == rank; }
};

using RankStep = std::function<RunRecord(const Seat&)>;

class World {
 public:
  virtual ~World() = default;
  // Runs `step` on every rank of the problem (problem.ep of them), each perhaps on its own thread
  // or in its own process. Rethrows the first rank's exception.
  virtual RunRecord Run(const Problem& problem, const StagedMemory& memory,
                        const RankStep& step) = 0;
};

// Ranks as threads of this process: any number of them.
World& ThreadWorld();

// The step as one record: outputs, ids, weights and launches of rank 0, each slot's intermediates
// from the rank that holds its expert, everyone's bad accesses and ledgers; what the ranks should
// agree on and do not, as rank_differences.
RunRecord MergeRanks(std::vector<RunRecord> ranks, const Problem& problem, const ExpertMap& map);

}  // namespace assay
