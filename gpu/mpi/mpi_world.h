// Ranks of an expert-parallel step as MPI processes: `mpirun -np N assay check --mpi CASE` with a
// case of ep=N. All processes run the same commands in lockstep, each one rank of every step; each
// ends with the whole record, so that all judge alike and rank 0 speaks.
#pragma once

#include "gpu/run/world.h"

namespace assay {

// MPI_Init and MPI_Finalize as a scope. Throws EnvironmentError when this build has no MPI.
class MpiSession {
 public:
  MpiSession();
  ~MpiSession();
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;

  int Rank() const;
  int Ranks() const;
  // Its Run() throws UsageError unless the problem has as many ranks as there are processes.
  World& TheWorld();
};

}  // namespace assay
