// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/experiments/sessions.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/random.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/evaluate/nelbo.h"
#include "inference/evaluate/text_documents.h"
#include "inference/kernels/kernel_table.h"
#include "inference/sampler/diffusion_loop.h"

namespace ruvd::bench {
namespace {

// Where a request and its context lie in the session's tokens.
struct Place {
  size_t begin = 0;  // of the context
  size_t first = 0;  // of the request, counted from `begin`
  size_t end = 0;
};

Place PlaceOf(const SessionShape& shape, int request) {
  const auto from = static_cast<size_t>(request) * static_cast<size_t>(shape.tokens) + 1;
  const size_t begin = from - std::min(from, static_cast<size_t>(shape.context));
  return {begin, from - begin, from + static_cast<size_t>(shape.tokens)};
}

absl::Status Append(inference::Transformer& transformer, std::span<const inference::TokenId> tokens,
                    const std::vector<int>& rows, inference::Attention::Kind kind,
                    RequestOutputs* outputs) {
  inference::ForwardOutput output;
  RETURN_IF_ERROR(
      transformer.Forward({.tokens = tokens, .attention = {.kind = kind}, .rows = rows}, &output));
  const size_t before = outputs->logits.size();
  const auto vocabulary = static_cast<size_t>(transformer.model().config().vocabulary);
  outputs->logits.resize(before + rows.size() * vocabulary);
  transformer.Logits(output.hidden, nullptr, std::span(outputs->logits).subspan(before));
  outputs->hidden.insert(outputs->hidden.end(), output.hidden.begin(), output.hidden.end());
  return absl::OkStatus();
}

absl::Status PredictMasked(inference::Transformer& transformer,
                           std::span<const inference::TokenId> tokens, size_t first,
                           const std::vector<bool>& masked, bool scored, RequestOutputs* outputs) {
  const inference::Model& model = transformer.model();
  const auto length = static_cast<double>(masked.size());
  const auto count = static_cast<double>(std::count(masked.begin(), masked.end(), true));
  PredictedWindow window{.tokens = {tokens.begin(), tokens.end()}};
  std::vector<int> rows;
  for (size_t i = 0; i < masked.size(); ++i) {
    if (masked[i]) {
      window.tokens[first + i] = *model.tokenizer().mask_id();
      window.positions.push_back(static_cast<int>(first + i));
      rows.push_back(
          inference::PredictingRow(static_cast<int>(first + i), model.config().shift_logits));
      outputs->predictions.push_back({.target = tokens[first + i],
                                      .scored = scored,
                                      .weight = scored ? 1 / count : 0,
                                      .t = count / length});
    }
  }
  if (rows.empty()) {
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(Append(transformer, window.tokens, rows,
                         inference::Attention::Kind::kBidirectional, outputs));
  outputs->windows.push_back(std::move(window));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<Session>> ReadSessions(const std::string& path, const std::string& set,
                                                  const inference::Tokenizer& tokenizer,
                                                  const SessionShape& shape, size_t most) {
  ASSIGN_OR_RETURN(const std::vector<std::string> documents, inference::ReadTextDocuments(path));
  const size_t length = static_cast<size_t>(shape.requests) * static_cast<size_t>(shape.tokens) + 1;
  std::vector<Session> sessions;
  for (size_t i = 0; i < documents.size(); ++i) {
    Session session{.set = set, .document = i, .tokens = tokenizer.EncodePrompt(documents[i])};
    if (session.tokens.size() >= length && sessions.size() < most) {
      session.tokens.resize(length);
      sessions.push_back(std::move(session));
    }
  }
  return sessions;
}

absl::StatusOr<std::vector<std::string>> DomainsIn(const std::string& folder) {
  constexpr std::string_view kSuffix = ".train.jsonl.zst";
  std::vector<std::string> domains;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(kSuffix)) {
      domains.push_back(name.substr(0, name.size() - kSuffix.size()));
    }
  }
  if (error || domains.empty()) {
    return Error(absl::StatusCode::kNotFound, reasons::kFileNotFound,
                 "the folder {} has no NAME.train.jsonl.zst; give the folder of the domains",
                 folder);
  }
  std::ranges::sort(domains);
  return domains;
}

absl::StatusOr<RequestOutputs> PredictRequest(inference::Transformer& transformer,
                                              const Session& session, const SessionShape& shape,
                                              int request, bool masked, uint64_t seed) {
  const Place place = PlaceOf(shape, request);
  const auto tokens = std::span(session.tokens).subspan(place.begin, place.end - place.begin);
  RequestOutputs outputs{.tokens = {tokens.begin(), tokens.end()}, .first = place.first};
  if (!masked) {
    PredictedWindow window{.tokens = outputs.tokens, .causal = true};
    std::vector<int> rows;
    for (size_t i = place.first; i < tokens.size(); ++i) {
      rows.push_back(static_cast<int>(i) - 1);
      window.positions.push_back(static_cast<int>(i));
      outputs.predictions.push_back(
          {.target = tokens[i], .weight = 1.0 / static_cast<double>(shape.tokens), .t = 1});
    }
    RETURN_IF_ERROR(Append(transformer, tokens.first(tokens.size() - 1), rows,
                           inference::Attention::Kind::kCausal, &outputs));
    outputs.windows.push_back(std::move(window));
    return outputs;
  }
  // The k of all requests of a session together cover 1..tokens evenly.
  const std::vector<size_t> spans(static_cast<size_t>(shape.requests),
                                  static_cast<size_t>(shape.tokens));
  const inference::Corruption all = inference::DrawCorruptions(spans, 1, seed).front();
  std::vector<bool> mask(static_cast<size_t>(shape.tokens));
  const size_t offset = static_cast<size_t>(request) * mask.size();
  for (const inference::Corruption::Position& position : all.masked) {
    if (position.index >= offset && position.index < offset + mask.size()) {
      mask[position.index - offset] = true;
    }
  }
  RETURN_IF_ERROR(PredictMasked(transformer, tokens, place.first, mask, true, &outputs));
  mask.flip();
  RETURN_IF_ERROR(PredictMasked(transformer, tokens, place.first, mask, false, &outputs));
  return outputs;
}

uint64_t MaskSeed(uint64_t seed, size_t place) {
  Random seeds(seed);
  return Random(seeds.Next() + place).Next();
}

double CrossEntropyOf(std::span<const float> logits, inference::TokenId target) {
  const float largest = inference::Kernels().max(logits.data(), logits.size());
  const double sum = inference::Kernels().sum_exp(logits.data(), logits.size(), largest);
  return static_cast<double>(largest) + std::log(sum) - static_cast<double>(logits[target]);
}

}  // namespace ruvd::bench
