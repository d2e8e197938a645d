// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/adapter/adapter.h"

#include <algorithm>

namespace ruvd {

bool SameMix(const AdapterMix& a, const AdapterMix& b) {
  return std::equal(a.parts.begin(), a.parts.end(), b.parts.begin(), b.parts.end(),
                    [](const AdapterMix::Part& x, const AdapterMix::Part& y) {
                      return x.adapter == y.adapter && x.weight == y.weight;
                    });
}

}  // namespace ruvd
