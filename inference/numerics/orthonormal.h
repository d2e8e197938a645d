// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <vector>

#include "base/random.h"

namespace ruvd::inference {

// Returns `count` orthonormal vectors of `length` >= count, one after the other, that span a
// uniformly random subspace. Gaussian entries are rounded to 2^-24, so that the last bit of the C
// library's logarithm does not matter, and then pass modified Gram-Schmidt in double precision
// twice (Giraud, Langou, Rozloznik 2005: twice is enough).
std::vector<double> OrthonormalRows(int count, int length, Random& random);

}  // namespace ruvd::inference
