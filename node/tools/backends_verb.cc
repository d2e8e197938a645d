// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/status.h"
#include "inference/backend/backend.h"
#include "inference/kernels/kernel_table.h"
#include "node/terminal/command.h"
#include "node/terminal/output.h"
#include "node/terminal/terminal.h"
#include "node/tools/verbs.h"

namespace ruvd::cli {
namespace {

std::string YesOrNo(bool yes) {
  return yes ? "yes" : "no";
}

void PrintJson(CommandContext& context) {
  nlohmann::json out;
  for (const inference::Backend* backend : inference::Backends()) {
    const inference::BackendInfo info = backend->Info();
    out["backends"].push_back({{"name", info.name},
                               {"device", info.device},
                               {"threads", info.threads},
                               {"memory_bytes", info.memory_bytes},
                               {"available", info.available},
                               {"used", backend == &inference::DefaultBackend()},
                               {"reason", info.reason}});
  }
  for (const inference::KernelCandidate& kernels : inference::KernelCandidates()) {
    out["kernels"].push_back({{"name", kernels.name},
                              {"available", kernels.available},
                              {"used", kernels.name == inference::Kernels().name},
                              {"reason", kernels.reason}});
  }
  out["float_kernels"] = inference::Kernels().target;
  context.out << ToJsonLine(out);
}

absl::Status ListBackends(CommandContext& context) {
  RETURN_IF_ERROR(inference::CheckKernelsVariable());
  if (context.json) {
    PrintJson(context);
    return absl::OkStatus();
  }
  std::vector<std::vector<std::string>> backends;
  for (const inference::Backend* backend : inference::Backends()) {
    const inference::BackendInfo info = backend->Info();
    backends.push_back(
        {info.name, YesOrNo(info.available), YesOrNo(backend == &inference::DefaultBackend()),
         info.device, fmt::format("{}", info.threads),
         fmt::format("{:.1f} GiB", static_cast<double>(info.memory_bytes) / (1 << 30)),
         info.reason});
  }
  context.out << FormatTable(
      {"BACKEND", "AVAILABLE", "USED", "DEVICE", "THREADS", "MEMORY", "REASON"}, backends);
  std::vector<std::vector<std::string>> kernels;
  for (const inference::KernelCandidate& candidate : inference::KernelCandidates()) {
    kernels.push_back({candidate.name, YesOrNo(candidate.available),
                       YesOrNo(candidate.name == inference::Kernels().name), candidate.reason});
  }
  context.out << "\n" << FormatTable({"CPU KERNELS", "AVAILABLE", "USED", "REASON"}, kernels);
  context.out << fmt::format("\nfloat kernels: {}\n", inference::Kernels().target);
  return absl::OkStatus();
}

}  // namespace

void AddBackendsVerb(VerbTable& verbs) {
  verbs.Add("model backends", "Models", "List the compute backends of this machine", ListBackends);
}

}  // namespace ruvd::cli
