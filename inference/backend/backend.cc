// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/backend/backend.h"

#include <algorithm>
#include <array>

#include "inference/backend/cpu_backend.h"

namespace ruvd::inference {

std::span<Backend* const> Backends() {
  static const std::array<Backend*, 1> all = {new CpuBackend};
  return all;
}

Backend& DefaultBackend() {
  const std::span<Backend* const> all = Backends();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [](const Backend* backend) { return backend->Info().available; });
  return found == all.end() ? *all.back() : **found;
}

}  // namespace ruvd::inference
