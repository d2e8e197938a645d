// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/backend/cpu_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "inference/kernels/kernel_table.h"
#include "inference/model/cpu_transformer.h"

namespace ruvd {

BackendInfo CpuBackend::Info() const {
  return {.name = "cpu",
          .device = fmt::format("{}, {} threads", Kernels().target,
                                std::max(1U, std::thread::hardware_concurrency())),
          .available = true,
          .reason = "best instruction set that both this build and this machine have"};
}

absl::StatusOr<std::unique_ptr<Transformer>> CpuBackend::Load(std::shared_ptr<const Model> model,
                                                              const BackendOptions& options) {
  return std::make_unique<CpuTransformer>(std::move(model), options.runner);
}

}  // namespace ruvd
