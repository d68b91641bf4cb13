#include "oracle/verdict.h"

namespace assay {

Work& Work::operator+=(const Work& other) {
  const double weighted = powerful * elements + other.powerful * other.elements;
  elements += other.elements;
  experts += other.experts;
  scale_bytes += other.scale_bytes;
  launches += other.launches;
  powerful = elements > 0 ? weighted / elements : 0;
  return *this;
}

}  // namespace assay
