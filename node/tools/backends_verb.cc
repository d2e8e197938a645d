// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <string>
#include <vector>

#include "base/status.h"
#include "inference/backend/backend.h"
#include "inference/kernels/kernel_table.h"
#include "node/terminal/command.h"
#include "node/terminal/output.h"
#include "node/terminal/terminal.h"
#include "node/tools/verbs.h"
#include "ruvd/report/v1/report.pb.h"

namespace ruvd::cli {
namespace {

std::string YesOrNo(bool yes) {
  return yes ? "yes" : "no";
}

void PrintJson(CommandContext& context) {
  report::v1::BackendsReport report;
  for (const inference::Backend* backend : inference::Backends()) {
    const inference::BackendInfo info = backend->Info();
    report::v1::BackendsReport::Backend& message = *report.add_backends();
    message.set_name(info.name);
    message.set_device(info.device);
    message.set_threads(static_cast<uint32_t>(info.threads));
    message.set_memory_bytes(info.memory_bytes);
    message.set_available(info.available);
    message.set_used(backend == &inference::DefaultBackend());
    message.set_reason(info.reason);
  }
  for (const inference::KernelCandidate& kernels : inference::KernelCandidates()) {
    report::v1::BackendsReport::Kernels& message = *report.add_kernels();
    message.set_name(std::string(kernels.name));
    message.set_available(kernels.available);
    message.set_used(kernels.name == inference::Kernels().name);
    message.set_reason(std::string(kernels.reason));
  }
  report.set_float_kernels(std::string(inference::Kernels().target));
  context.out << ToJsonLine(report);
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
