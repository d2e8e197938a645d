// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/adapter/adapter.h"

#include <algorithm>

namespace ruvd::inference {

size_t FactorBytes(const Adapter& adapter) {
  size_t floats = 0;
  for (const auto& [name, change] : adapter.targets) {
    floats += change.a.size() + change.b.size();
  }
  return floats * sizeof(float);
}

bool SameMix(const AdapterMix& a, const AdapterMix& b) {
  return std::equal(a.parts.begin(), a.parts.end(), b.parts.begin(), b.parts.end(),
                    [](const AdapterMix::Part& x, const AdapterMix::Part& y) {
                      return x.adapter == y.adapter && x.weight == y.weight;
                    });
}

}  // namespace ruvd::inference
