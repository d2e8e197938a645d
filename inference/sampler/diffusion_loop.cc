// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/sampler/diffusion_loop.h"

#include <algorithm>
#include <memory>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/sampler/commit_rule.h"

namespace ruvd::inference {
namespace {

// The part of the window that a step may commit, and the step's place in the schedule of that part.
struct Scope {
  int begin = 0;
  int end = 0;
  int step = 0;
  bool valid = false;
};

Scope FindScope(const DiffusionRun& run, int prompt_length, int length, int step) {
  if (run.schedule == DiffusionScheduleKind::kTimestep) {
    return {prompt_length, length, step, step < run.steps};
  }
  const int begin = prompt_length + step / run.steps * run.block;
  return {begin, std::min(begin + run.block, length), step % run.steps, begin < length};
}

SamplerKind KindOf(CommitOrder order) {
  switch (order) {
    case CommitOrder::kConfidence:
      return SamplerKind::kLowConfidence;
    case CommitOrder::kMargin:
      return SamplerKind::kMargin;
    case CommitOrder::kEntropy:
      return SamplerKind::kEntropy;
    case CommitOrder::kPosition:
      break;
  }
  return SamplerKind::kPosition;
}

std::unique_ptr<CommitSchedule> ScheduleOf(const DiffusionRun& run) {
  if (run.schedule == DiffusionScheduleKind::kTimestep) {
    return std::make_unique<TimestepSchedule>(run.steps, run.eps);
  }
  return std::make_unique<EvenSchedule>(run.steps);
}

absl::Status CheckRun(const DiffusionRun& run, int prompt_length, size_t length) {
  const bool block = run.schedule == DiffusionScheduleKind::kBlock;
  if (run.steps < 1 || run.vocabulary < 2 || (block && run.block < 1) || prompt_length < 0 ||
      static_cast<size_t>(prompt_length) > length) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "a diffusion run needs steps >= 1, a vocabulary of at least 2, a block >= 1 where "
                 "it has blocks, and a prompt inside the window");
  }
  return absl::OkStatus();
}

std::vector<int> MaskedPositions(std::span<const TokenId> tokens, const Scope& scope,
                                 TokenId mask) {
  std::vector<int> positions;
  for (int i = scope.begin; i < scope.end; ++i) {
    if (tokens[static_cast<size_t>(i)] == mask) {
      positions.push_back(i);
    }
  }
  return positions;
}

absl::StatusOr<std::vector<Proposal>> ProposeAll(const WindowLogits& logits,
                                                 const DiffusionRun& run,
                                                 std::span<const TokenId> tokens,
                                                 std::span<const int> positions) {
  std::vector<int> rows;
  for (const int position : positions) {
    rows.push_back(PredictingRow(position, run.shift));
  }
  const auto width = static_cast<size_t>(run.vocabulary);
  std::vector<float> values(rows.size() * width);
  RETURN_IF_ERROR(logits(tokens, rows, values));
  Proposer proposer({.choice = {.excluded = run.mask}});
  std::vector<Proposal> proposals;
  proposals.reserve(positions.size());
  for (size_t i = 0; i < positions.size(); ++i) {
    proposals.push_back(
        proposer.Propose(positions[i], std::span(values).subspan(i * width, width)));
  }
  return proposals;
}

}  // namespace

WindowLogits BidirectionalLogits(Transformer& transformer, const AdapterMix* adapters) {
  auto output = std::make_shared<ForwardOutput>();
  return [&transformer, adapters, output](std::span<const TokenId> tokens,
                                          std::span<const int> rows,
                                          std::span<float> logits) -> absl::Status {
    RETURN_IF_ERROR(transformer.Forward({.tokens = tokens, .adapters = adapters}, output.get()));
    const auto width = static_cast<size_t>(transformer.model().config().width);
    std::vector<float> hidden(rows.size() * width);
    for (size_t i = 0; i < rows.size(); ++i) {
      std::copy_n(output->hidden.begin() + rows[i] * static_cast<std::ptrdiff_t>(width), width,
                  hidden.begin() + static_cast<std::ptrdiff_t>(i * width));
    }
    transformer.Logits(hidden, adapters, logits);
    return absl::OkStatus();
  };
}

absl::StatusOr<std::vector<int>> DenoiseStep(const WindowLogits& logits, const DiffusionRun& run,
                                             int prompt_length, int step,
                                             std::vector<TokenId>* tokens) {
  RETURN_IF_ERROR(CheckRun(run, prompt_length, tokens->size()));
  const Scope scope = FindScope(run, prompt_length, static_cast<int>(tokens->size()), step);
  if (step < 0 || !scope.valid) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "step {} lies outside the schedule", step);
  }
  const std::vector<int> positions = MaskedPositions(*tokens, scope, run.mask);
  const std::unique_ptr<CommitSchedule> schedule = ScheduleOf(run);
  const std::unique_ptr<CommitRule> rule = MakeCommitRule({.kind = KindOf(run.order)});
  const CommitScope view = {
      .masked = positions, .committed = {}, .step = scope.step, .schedule = *schedule};
  Random random(0);
  const CommitRule::Intent intent = rule->Prepare(view, random);
  if (intent.evaluate.empty() || intent.step != scope.step) {
    return std::vector<int>{};
  }
  ASSIGN_OR_RETURN(const std::vector<Proposal> proposals,
                   ProposeAll(logits, run, *tokens, intent.evaluate));
  std::vector<int> committed;
  for (const size_t chosen : rule->Choose(view, proposals, random)) {
    const Proposal& proposal = proposals[chosen];
    (*tokens)[static_cast<size_t>(proposal.position)] = proposal.token;
    committed.push_back(proposal.position);
  }
  std::sort(committed.begin(), committed.end());
  return committed;
}

absl::StatusOr<DiffusionTrace> DecodeTrace(const WindowLogits& logits, const DiffusionRun& run,
                                           std::span<const TokenId> prompt, int length) {
  const int prompt_length = static_cast<int>(prompt.size());
  if (length < prompt_length) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "a window of {} tokens cannot hold a prompt of {}", length, prompt_length);
  }
  DiffusionTrace trace;
  trace.final.assign(prompt.begin(), prompt.end());
  trace.final.resize(static_cast<size_t>(length), run.mask);
  RETURN_IF_ERROR(CheckRun(run, prompt_length, trace.final.size()));
  const WindowLogits counting = [&](std::span<const TokenId> tokens, std::span<const int> rows,
                                    std::span<float> out) {
    ++trace.forwards;
    return logits(tokens, rows, out);
  };
  for (int step = 0; FindScope(run, prompt_length, length, step).valid; ++step) {
    DiffusionTrace::Step entry{.step = step, .before = trace.final, .committed = {}};
    ASSIGN_OR_RETURN(entry.committed,
                     DenoiseStep(counting, run, prompt_length, step, &trace.final));
    trace.steps.push_back(std::move(entry));
  }
  return trace;
}

}  // namespace ruvd::inference
