#include "gpu/mpi/mpi_world.h"
#include "reference/error.h"

namespace assay {

MpiSession::MpiSession() {
  throw EnvironmentError(
      "--mpi: this build has no MPI; install libopenmpi-dev and configure again, or leave out "
      "--mpi "
      "(ranks are then threads)");
}
MpiSession::~MpiSession() = default;
int MpiSession::Rank() const { return 0; }
int MpiSession::Ranks() const { return 1; }
World& MpiSession::TheWorld() { return ThreadWorld(); }

}  // namespace assay
