// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/engine_runs.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "bench/engine_session.h"
#include "bench/meter.h"
#include "bench/random_adapter.h"
#include "inference/engine/generation.h"
#include "inference/engine/step_together.h"

namespace ruvd::bench {
namespace {

// Which rows of `tokens` get logits, ascending.
absl::StatusOr<std::vector<int>> SelectRows(const std::string& rows, int tokens) {
  int count = 0;
  if (rows == "all") {
    count = tokens;
  } else if (rows == "last") {
    return std::vector<int>{tokens - 1};
  } else if (rows.starts_with("masked:")) {
    const char* end = rows.data() + rows.size();
    if (std::from_chars(rows.data() + 7, end, count).ptr != end) {
      count = 0;
    }
  }
  if (count < 1 || count > tokens) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "--rows {} must be all, last or masked:K with 1 <= K <= {}", rows, tokens);
  }
  std::vector<int> selected;
  selected.reserve(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    selected.push_back(static_cast<int>(static_cast<int64_t>(i) * tokens / count));
  }
  return selected;
}

absl::StatusOr<inference::SamplingOptions> ReadSampling(const RunOptions& options,
                                                        const DenoiseOptions& denoise) {
  inference::SamplingOptions sampling;
  sampling.mode =
      denoise.block > 0 ? inference::DecodingMode::kBlock : inference::DecodingMode::kDiffusion;
  sampling.max_tokens = options.tokens;
  sampling.steps = denoise.steps;
  sampling.block_length = denoise.block;
  sampling.confidence_threshold = denoise.threshold;
  sampling.ignore_end_of_text = true;
  if (!denoise.sampler.empty()) {
    sampling.sampler = inference::SamplerByName(denoise.sampler);
    if (!sampling.sampler) {
      return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                   "no sampler \"{}\"; there are {}", denoise.sampler, inference::SamplerNames());
    }
  }
  return sampling;
}

// Runs `batch` equal completions to their ends, all in the same forwards.
absl::Status Complete(const inference::Model& model, inference::Transformer& transformer,
                      const std::string& prompt, const inference::SamplingOptions& sampling,
                      int batch) {
  std::vector<std::unique_ptr<inference::Generation>> generations;
  std::vector<inference::Generation*> running;
  for (int i = 0; i < batch; ++i) {
    ASSIGN_OR_RETURN(
        auto generation,
        inference::Generation::Create(model, model.tokenizer().Encode(prompt), sampling, nullptr));
    running.push_back(generations.emplace_back(std::move(generation)).get());
  }
  inference::StepScratch scratch;
  while (!running.empty()) {
    for (const inference::ForwardRoundResult& result :
         inference::StepTogether(running, transformer, &scratch)) {
      RETURN_IF_ERROR(result.status());
    }
    std::erase_if(running,
                  [](const inference::Generation* generation) { return generation->done(); });
  }
  return absl::OkStatus();
}

// Adds what every command reports about its repetitions, all of which did the same work.
void Finish(const RunOptions& options, const MeteredTransformer& transformer,
            Measurement* measurement) {
  const MeteredTransformer::Totals& totals = transformer.totals();
  measurement->set_flops(totals.flops / options.reps);
  measurement->set_tokens(options.tokens);
  measurement->AddDetail("forwards", totals.sequences / options.reps);
  measurement->AddDetail("ms_cpu_forward", totals.forward_ms / options.reps);
  measurement->AddDetail("ms_cpu_logits", totals.logits_ms / options.reps);
}

}  // namespace

absl::StatusOr<std::string> RunForward(const RunOptions& options, const ForwardOptions& forward) {
  ASSIGN_OR_RETURN(const std::vector<int> selected, SelectRows(forward.rows, options.tokens));
  ASSIGN_OR_RETURN(const EngineSession session, OpenSession(options));
  MeteredTransformer& transformer = *session.transformer;
  const std::vector<inference::TokenId> tokens =
      RandomTokens(session.config(), static_cast<size_t>(options.tokens));
  inference::AdapterMix mix;
  if (forward.adapter_rank > 0) {
    mix.parts.push_back({.adapter = RandomAdapter(*session.model, forward.adapter_rank)});
  }
  const inference::ForwardInput input{
      .tokens = tokens, .attention = session.attention(), .adapters = &mix, .rows = selected};
  std::vector<float> logits(selected.size() * static_cast<size_t>(session.config().vocabulary));
  inference::ForwardOutput output;
  Measurement measurement;
  for (int rep = -1; rep < options.reps; ++rep) {
    if (rep == 0) {
      transformer.Reset();
    }
    const Meter meter;
    RETURN_IF_ERROR(transformer.Forward(input, &output));
    transformer.Logits(output.hidden, &mix, logits);
    if (rep >= 0) {
      measurement.Add(meter);
    }
  }
  Finish(options, transformer, &measurement);
  measurement.set_tokens_per_forward(options.tokens);
  return measurement.JsonLine("forward");
}

absl::StatusOr<std::string> RunDecode(const RunOptions& options, int prompt) {
  ASSIGN_OR_RETURN(const EngineSession session, OpenSession(options));
  MeteredTransformer& transformer = *session.transformer;
  const std::vector<inference::TokenId> tokens =
      RandomTokens(session.config(), static_cast<size_t>(std::max(prompt, 1)));
  inference::KvCache cache(session.config(), static_cast<int>(tokens.size()) + options.tokens);
  inference::ForwardInput input{.attention = {.kind = inference::Attention::Kind::kCausal},
                                .cache = &cache,
                                .extend_cache = true};
  std::vector<float> logits(static_cast<size_t>(session.config().vocabulary));
  inference::ForwardOutput output;
  Measurement measurement;
  for (int rep = -1; rep < options.reps; ++rep) {
    cache.Truncate(0);
    input.tokens = tokens;
    const MeteredTransformer::Totals before = transformer.totals();
    RETURN_IF_ERROR(transformer.Forward(input, &output));
    transformer.Restore(rep <= 0 ? MeteredTransformer::Totals() : before);
    inference::TokenId next = tokens.back();
    input.tokens = std::span(&next, 1);
    const Meter meter;
    for (int i = 0; i < options.tokens; ++i) {
      RETURN_IF_ERROR(transformer.Forward(input, &output));
      transformer.Logits(output.hidden, nullptr, logits);
      next = static_cast<inference::TokenId>(std::ranges::max_element(logits) - logits.begin());
    }
    if (rep >= 0) {
      measurement.Add(meter);
    }
  }
  Finish(options, transformer, &measurement);
  measurement.set_tokens_per_forward(1);
  return measurement.JsonLine("decode");
}

absl::StatusOr<std::string> RunDenoise(const RunOptions& options, const DenoiseOptions& denoise) {
  ASSIGN_OR_RETURN(const EngineSession session, OpenSession(options));
  ASSIGN_OR_RETURN(const inference::SamplingOptions sampling, ReadSampling(options, denoise));
  MeteredTransformer& transformer = *session.transformer;
  const std::string prompt = session.model->tokenizer().Decode(
      RandomTokens(session.config(), static_cast<size_t>(denoise.prompt)));
  Measurement measurement;
  double cpu_ms = 0;
  for (int rep = -1; rep < options.reps; ++rep) {
    if (rep == 0) {
      transformer.Reset();
    }
    const Meter meter;
    RETURN_IF_ERROR(Complete(*session.model, transformer, prompt, sampling, denoise.batch));
    if (rep >= 0) {
      measurement.Add(meter);
      cpu_ms += meter.CpuMs();
    }
  }
  Finish(options, transformer, &measurement);
  const MeteredTransformer::Totals& totals = transformer.totals();
  const double tokens = options.tokens * denoise.batch;
  measurement.set_tokens(tokens);
  measurement.set_tokens_per_forward(tokens * options.reps / totals.sequences);
  measurement.AddDetail("ms_cpu_rest",
                        (cpu_ms - totals.forward_ms - totals.logits_ms) / options.reps);
  return measurement.JsonLine("denoise");
}

}  // namespace ruvd::bench
