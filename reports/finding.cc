#include "reports/finding.h"

#include "reports/stable_hash.h"

namespace assay {

std::string Finding::Fingerprint() const {
  StableHash hash;
  for (const std::string* part : {&check, &path, &kernel, &error_class}) hash.AddField(*part);
  return hash.Hex();
}

}  // namespace assay
