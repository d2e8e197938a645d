// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/similarity/cosine.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace ruvd::storage {

std::optional<float> CosineSimilarity(std::span<const float> a, std::span<const float> b) {
  double dot = 0;
  double aa = 0;
  double bb = 0;
  for (size_t i = 0; a.size() == b.size() && i < a.size(); ++i) {
    dot += static_cast<double>(a[i]) * static_cast<double>(b[i]);
    aa += static_cast<double>(a[i]) * static_cast<double>(a[i]);
    bb += static_cast<double>(b[i]) * static_cast<double>(b[i]);
  }
  const double norms = std::sqrt(aa) * std::sqrt(bb);
  if (!(norms > 0) || !std::isfinite(norms)) {
    return std::nullopt;
  }
  return static_cast<float>(std::clamp(dot / norms, -1.0, 1.0));
}

}  // namespace ruvd::storage
