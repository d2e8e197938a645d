// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "inference/backend/backend.h"

namespace ruvd {

// The cores and memory of this machine.
class CpuBackend final : public Backend {
 public:
  BackendInfo Info() const override;
  absl::StatusOr<std::unique_ptr<Transformer>> Load(std::shared_ptr<const Model> model,
                                                    const BackendOptions& options) override;
};

}  // namespace ruvd
