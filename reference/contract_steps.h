// The elementwise steps of a contract on intervals: every value that an evaluation which keeps the
// contract may reach lies in the result.
#pragma once

#include <vector>

#include "reference/interval.h"
#include "reference/rounding_contract.h"

namespace assay {

// What storing makes of an FP32 value in the interval.
Interval Stored(Store store, const Interval& value);

// An FP32 sum that lies within `radius` of `center`, stored; `magnitude` bounds its terms' sum.
Interval StoredSum(Store store, double center, double radius, double magnitude);

// The FP32 value of the contract's activation of stored gate and up, before it is stored.
Interval HiddenInterval(const Contract& contract, const Interval& gate, const Interval& up);

// The dequantised values of codes, for values inside the intervals: scales follow from the largest
// magnitude, whose interval may admit several of them; the hull over all is returned, in place.
// `values` is one row.
void QuantiseIntervals(const ActivationCodes& codes, std::vector<Interval>& values);

}  // namespace assay
