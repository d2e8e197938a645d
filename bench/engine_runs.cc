// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/engine_runs.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <span>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "bench/engine_session.h"
#include "bench/flops.h"
#include "bench/meter.h"
#include "inference/engine/generation.h"

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
  for (int i = 0; i < count; ++i) {
    selected.push_back(static_cast<int>(static_cast<int64_t>(i) * tokens / count));
  }
  return selected;
}

size_t Width(const Session& session) {
  return static_cast<size_t>(session.config().width);
}

}  // namespace

absl::StatusOr<std::string> RunForward(const RunOptions& options, const std::string& rows) {
  ASSIGN_OR_RETURN(const std::vector<int> selected, SelectRows(rows, options.tokens));
  ASSIGN_OR_RETURN(const Session session, OpenSession(options));
  const std::vector<TokenId> tokens =
      RandomTokens(session.config(), static_cast<size_t>(options.tokens));
  const size_t width = Width(session);
  std::vector<float> logits(selected.size() * static_cast<size_t>(session.config().vocabulary));
  std::vector<float> hidden(selected.size() * width);
  ForwardOutput output;
  Measurement measurement;
  for (int rep = -1; rep < options.reps; ++rep) {
    const Meter meter;
    RETURN_IF_ERROR(session.transformer->Forward(
        {.tokens = tokens, .attention = session.attention()}, &output));
    for (size_t i = 0; i < selected.size(); ++i) {
      std::copy_n(output.hidden.data() + static_cast<size_t>(selected[i]) * width, width,
                  hidden.data() + i * width);
    }
    session.transformer->Logits(hidden, nullptr, logits);
    if (rep >= 0) {
      measurement.Add(meter);
    }
  }
  const ForwardSize size = SizeOf(tokens.size(), 0, selected.size(), session.causal());
  measurement.set_flops(ForwardFlops(session.config(), size) +
                        LogitsFlops(session.config(), size.rows));
  measurement.set_tokens(options.tokens);
  measurement.set_tokens_per_forward(options.tokens);
  return measurement.JsonLine("forward");
}

absl::StatusOr<std::string> RunDecode(const RunOptions& options, int prompt) {
  ASSIGN_OR_RETURN(const Session session, OpenSession(options));
  const std::vector<TokenId> tokens =
      RandomTokens(session.config(), static_cast<size_t>(std::max(prompt, 1)));
  const Attention causal{.kind = Attention::Kind::kCausal};
  KvCache cache(session.config(), static_cast<int>(tokens.size()) + options.tokens);
  std::vector<float> logits(static_cast<size_t>(session.config().vocabulary));
  ForwardOutput output;
  Measurement measurement;
  double flops = 0;
  for (int rep = -1; rep < options.reps; ++rep) {
    cache.Truncate(0);
    RETURN_IF_ERROR(session.transformer->Forward(
        {.tokens = tokens, .attention = causal, .cache = &cache, .extend_cache = true}, &output));
    TokenId next = tokens.back();
    flops = 0;
    const Meter meter;
    for (int i = 0; i < options.tokens; ++i) {
      const ForwardSize size = SizeOf(1, static_cast<size_t>(cache.length()), 1, /*causal=*/true);
      flops += ForwardFlops(session.config(), size) + LogitsFlops(session.config(), 1);
      RETURN_IF_ERROR(session.transformer->Forward({.tokens = std::span(&next, 1),
                                                    .attention = causal,
                                                    .cache = &cache,
                                                    .extend_cache = true},
                                                   &output));
      session.transformer->Logits(output.hidden, nullptr, logits);
      next = static_cast<TokenId>(std::ranges::max_element(logits) - logits.begin());
    }
    if (rep >= 0) {
      measurement.Add(meter);
    }
  }
  measurement.set_flops(flops);
  measurement.set_tokens(options.tokens);
  measurement.set_tokens_per_forward(1);
  return measurement.JsonLine("decode");
}

absl::StatusOr<std::string> RunDenoise(const RunOptions& options, const DenoiseOptions& denoise) {
  ASSIGN_OR_RETURN(const Session session, OpenSession(options));
  SamplingOptions sampling;
  sampling.mode = denoise.block > 0 ? DecodingMode::kBlock : DecodingMode::kDiffusion;
  sampling.max_tokens = options.tokens;
  sampling.steps = denoise.steps;
  sampling.block_length = denoise.block;
  sampling.confidence_threshold = denoise.threshold;
  sampling.ignore_end_of_text = true;
  const std::vector<TokenId> prompt =
      RandomTokens(session.config(), static_cast<size_t>(denoise.prompt));
  Measurement measurement;
  int forwards = 0;
  int steps = 0;
  for (int rep = -1; rep < options.reps; ++rep) {
    const Meter meter;
    ASSIGN_OR_RETURN(const auto generation,
                     Generation::Create(*session.model, prompt, sampling, nullptr));
    while (!generation->done()) {
      RETURN_IF_ERROR(generation->Step(*session.transformer).status());
    }
    forwards = generation->forwards();
    steps = generation->steps();
    if (rep >= 0) {
      measurement.Add(meter);
    }
  }
  measurement.set_tokens(options.tokens);
  measurement.set_tokens_per_forward(static_cast<double>(options.tokens) / forwards);
  measurement.AddDetail("forwards", forwards);
  measurement.AddDetail("steps", steps);
  return measurement.JsonLine("denoise");
}

}  // namespace ruvd::bench
