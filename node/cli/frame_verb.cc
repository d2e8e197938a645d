// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/bytes.h"
#include "base/status.h"
#include "inference/adapter/adapter_kinds.h"
#include "inference/adapter/frame_set.h"
#include "inference/limits.h"
#include "inference/model/model.h"
#include "node/cli/command.h"
#include "node/cli/output.h"
#include "node/cli/terminal.h"
#include "node/cli/verbs.h"

namespace ruvd {
namespace {

struct FrameFlags {
  std::string model;
  std::string out;
  std::string kind = "svd";
  std::string modules = "all";
  int rank = 32;
  uint64_t seed = 1;
};

absl::StatusOr<FrameSet> MakeFrame(const FrameFlags& flags) {
  ASSIGN_OR_RETURN(const auto model, Model::Load(flags.model));
  const auto targets = LinearTargets(*model, ModulesByName(flags.modules).value_or(Modules::kAll));
  return FrameKindByName(flags.kind) == FrameKind::kRandom
             ? RandomFrameSet(*model, targets, flags.rank, flags.seed)
             : WeightFrameSet(*model, targets, flags.rank);
}

absl::Status Run(CommandContext& context, const FrameFlags& flags) {
  ASSIGN_OR_RETURN(const FrameSet frame, MakeFrame(flags));
  RETURN_IF_ERROR(SaveFrameSet(frame, flags.out));
  context.out << (context.json
                      ? ToJsonLine(nlohmann::json{{"out", flags.out},
                                                  {"id", ToHex(frame.id)},
                                                  {"kind", FrameKindName(frame.kind)},
                                                  {"rank", flags.rank},
                                                  {"modules", frame.modules.size()}})
                      : fmt::format("{}: frame {} of kind {}, rank {}, {} modules\n",
                                    PrintableLine(flags.out), ToHex(frame.id),
                                    FrameKindName(frame.kind), flags.rank, frame.modules.size()));
  return absl::OkStatus();
}

}  // namespace

void AddFrameVerb(VerbTable& verbs) {
  auto flags = std::make_shared<FrameFlags>();
  CLI::App& verb =
      verbs.Add("model frame", "Models", "The outer factors that a cluster's adapters share",
                [flags](CommandContext& context) { return Run(context, *flags); });
  verb.add_option("--model", flags->model, "GGUF file")->required();
  verb.add_option("--out", flags->out, "Where to, frame.gguf")->required();
  verb.add_option("--kind", flags->kind, "svd (of the weights) or random")
      ->check(CLI::IsMember({"svd", "random"}))
      ->capture_default_str();
  verb.add_option("--rank", flags->rank, "Vectors of each side")
      ->check(CLI::Range(1, limits::kMaxAdapterRank))
      ->capture_default_str();
  verb.add_option("--modules", flags->modules, "qv, attention or all linear layers")
      ->check(CLI::IsMember({"qv", "attention", "all"}))
      ->capture_default_str();
  verb.add_option("--seed", flags->seed, "Of a random frame")->capture_default_str();
}

}  // namespace ruvd
