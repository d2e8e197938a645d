// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <vector>

#include "base/random.h"

namespace ruvd::inference {

// `count` orthonormal vectors of `length` >= count, one after the other, spanning a uniformly
// random subspace: Gaussian entries, rounded to 2^-24 so that the last bit of libm's logarithm does
// not matter, then modified Gram-Schmidt in double, twice (Giraud, Langou, Rozloznik 2005: twice is
// enough).
std::vector<double> OrthonormalRows(int count, int length, Random& random);

}  // namespace ruvd::inference
