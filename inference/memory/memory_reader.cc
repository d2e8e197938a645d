// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/memory/memory_reader.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/status.h"
#include "inference/kernels/kernel_table.h"

namespace ruvd::inference {
namespace {

constexpr float kLeastTopLog = -9.2F;
constexpr float kLeastModelLog = -12;
constexpr float kLeastVote = 1e-4F;

float LogOfVote(float vote) {
  return std::log(std::max(vote, kLeastVote));
}

MemoryNeighbours NeighboursAt(const MemoryWindow& window, int position) {
  const auto known = [&](ptrdiff_t place) {
    if (place < 0 || place >= static_cast<ptrdiff_t>(window.tokens.size())) {
      return kNoToken;
    }
    const TokenId token = window.tokens[static_cast<size_t>(place)];
    return token == window.mask ? kNoToken : token;
  };
  MemoryNeighbours near;
  for (size_t i = 0; i < kMemoryLeft; ++i) {
    near.left[i] = known(position - 1 - static_cast<ptrdiff_t>(i));
  }
  for (size_t i = 0; i < kMemoryRight; ++i) {
    near.right[i] = window.causal ? kNoToken : known(position + 1 + static_cast<ptrdiff_t>(i));
  }
  return near;
}

// Returns the known tokens beside each position.
std::vector<MemoryNeighbours> NeighboursOf(const MemoryWindow& window,
                                           std::span<const int> positions) {
  std::vector<MemoryNeighbours> near;
  near.reserve(positions.size());
  for (const int position : positions) {
    near.push_back(NeighboursAt(window, position));
  }
  return near;
}

}  // namespace

MemoryReader::MemoryReader(std::shared_ptr<const MemoryParameters> parameters,
                           std::shared_ptr<const TokenMemory> memory, ParallelRunner& runner)
    : parameters_(std::move(parameters)),
      memory_(std::move(memory)),
      scan_(parameters_, memory_, runner) {}

float MemoryReader::LogRatio(TokenId token) {
  log_ratios_.resize(parameters_->vocabulary(), std::numeric_limits<float>::quiet_NaN());
  float& ratio = log_ratios_[token];
  if (std::isnan(ratio)) {
    const auto all = static_cast<double>(memory_->tokens() + parameters_->vocabulary());
    ratio = static_cast<float>(std::log((static_cast<double>(memory_->CountOf(token)) + 1) / all) -
                               static_cast<double>(parameters_->public_log_frequency[token]));
  }
  return ratio;
}

bool MemoryReader::HasPair(TokenId left, TokenId right) {
  const auto [found, added] =
      pairs_.try_emplace(static_cast<uint64_t>(left) << 32 | static_cast<uint64_t>(right));
  if (added) {
    found->second = memory_->HasPair(left, right);
  }
  return found->second;
}

MemoryReader::Words MemoryReader::SeenWords::words() const {
  return {
      .ratio = seen == 0 ? 0.0F : static_cast<float>(ratio / static_cast<double>(seen)),
      .shared_pairs = pairs == 0 ? 0.0F : static_cast<float>(shared) / static_cast<float>(pairs)};
}

// Goes on to the token before `end`.
void MemoryReader::See(const MemoryWindow& window, size_t end, SeenWords* seen) {
  for (; seen->end < std::min(end, window.tokens.size()); ++seen->end) {
    const TokenId token = window.tokens[seen->end];
    const bool known = token != window.mask && token < parameters_->vocabulary();
    if (known) {
      ++seen->seen;
      seen->ratio += static_cast<double>(LogRatio(token));
      if (seen->before != kNoToken) {
        ++seen->pairs;
        seen->shared += HasPair(seen->before, token) ? 1 : 0;
      }
    }
    seen->before = known ? token : kNoToken;
  }
}

std::vector<MemoryReader::Words> MemoryReader::WordsOf(const MemoryWindow& window,
                                                       std::span<const int> positions) {
  if (!window.causal) {
    SeenWords seen;
    See(window, window.tokens.size(), &seen);
    return std::vector<Words>(positions.size(), seen.words());
  }
  // A completion asks for a prefix that grows, so the sums go on where they were.
  const auto begin = static_cast<size_t>(positions.front());
  if (prefix_words_.end > begin ||
      !std::ranges::equal(prefix_, window.tokens.first(prefix_words_.end))) {
    prefix_words_ = {};
  }
  std::vector<Words> words;
  for (const int position : positions) {
    See(window, static_cast<size_t>(position), &prefix_words_);
    words.push_back(prefix_words_.words());
  }
  const std::span<const TokenId> read = window.tokens.first(prefix_words_.end);
  prefix_.assign(read.begin(), read.end());
  return words;
}

std::pair<TokenId, float> MemoryReader::Vote(ScannedRow* row,
                                             std::vector<std::pair<TokenId, float>>* votes) {
  token_votes_.resize(parameters_->vocabulary());
  votes->clear();
  const double total = static_cast<double>(
      Kernels().exp_affine(row->scores.data(), row->scores.size(), 1, row->best_score));
  for (size_t i = 0; i < row->scores.size(); ++i) {
    float& vote = token_votes_[row->tokens[i]];
    if (vote == 0) {
      votes->emplace_back(row->tokens[i], 0.0F);
    }
    vote += row->scores[i];
  }
  std::pair<TokenId, float> top{kNoToken, 0.0F};
  for (auto& [token, probability] : *votes) {
    float& vote = token_votes_[token];
    probability = static_cast<float>(static_cast<double>(vote) / total);
    vote = 0;
    if (probability > top.second) {
      top = {token, probability};
    }
  }
  return top;
}

bool MemoryReader::ReadRow(const MemoryWindow& window, const MemoryNeighbours& near,
                           const Words& words, std::span<const float> logits, ScannedRow* row,
                           MemoryReading* reading) {
  reading->votes.clear();
  reading->share = 0;
  const TopTwo best = Kernels().top_two(logits.data(), logits.size());
  const ExpSums sums = Kernels().exp_sums(logits.data(), logits.size(), best.first);
  if (!row->sound || !(row->mass > 0) || !std::isfinite(sums.mass) || !std::isfinite(sums.energy)) {
    return false;
  }
  const auto [top, probability] = Vote(row, &reading->votes);
  if (top == kNoToken || top >= logits.size()) {
    reading->votes.clear();
    return false;
  }
  const double log_mass = std::log(sums.mass);
  reading->log_mass = best.first + static_cast<float>(log_mass);
  float of_model = 0;
  for (const auto& [token, vote] : reading->votes) {
    of_model = token == static_cast<TokenId>(best.place) ? vote : of_model;
  }
  MemoryFeatures& x = reading->features;
  At(x, MemoryFeature::kModelTop) = std::max(static_cast<float>(-log_mass), kLeastTopLog);
  At(x, MemoryFeature::kModelEntropy) = static_cast<float>(log_mass - sums.energy / sums.mass);
  At(x, MemoryFeature::kTimestep) = window.causal ? 0.0F : window.t;
  At(x, MemoryFeature::kLogMasked) =
      window.causal ? 0.0F : std::log(static_cast<float>(std::max<size_t>(window.masked, 1)));
  At(x, MemoryFeature::kLeftSeen) = near.left[0] != kNoToken ? 1.0F : 0.0F;
  At(x, MemoryFeature::kRightSeen) = near.right[0] != kNoToken ? 1.0F : 0.0F;
  At(x, MemoryFeature::kMemoryTop) = LogOfVote(probability);
  At(x, MemoryFeature::kMemoryOfModel) = LogOfVote(of_model);
  At(x, MemoryFeature::kAgree) = top == static_cast<TokenId>(best.place) ? 1.0F : 0.0F;
  At(x, MemoryFeature::kLogMass) =
      parameters_->ScoreBound() + static_cast<float>(std::log(row->mass));
  At(x, MemoryFeature::kBestScore) = row->best_score;
  At(x, MemoryFeature::kBestCosine) = row->best_cosine;
  At(x, MemoryFeature::kLogEntries) = std::log(static_cast<float>(memory_->entries()));
  At(x, MemoryFeature::kModelOfMemory) =
      std::max(logits[top] - best.first - static_cast<float>(log_mass), kLeastModelLog);
  At(x, MemoryFeature::kWordRatio) = words.ratio;
  At(x, MemoryFeature::kSharedPairs) = words.shared_pairs;
  reading->share = parameters_->gate(window.causal).Share(x);
  return true;
}

void MemoryReader::Mix(const MemoryWindow& window, std::span<const int> positions,
                       std::span<const float> hidden, std::span<float> logits) {
  if (memory_->empty() || positions.empty()) {
    return;
  }
  const std::vector<Words> words = WordsOf(window, positions);
  const std::vector<MemoryNeighbours> near = NeighboursOf(window, positions);
  const std::span<ScannedRow> rows = scan_.Scan(near, hidden);
  const size_t vocabulary = logits.size() / positions.size();
  for (size_t r = 0; r < positions.size(); ++r) {
    const std::span<float> row = logits.subspan(r * vocabulary, vocabulary);
    if (!ReadRow(window, near[r], words[r], row, &rows[r], &reading_) || !(reading_.share > 0) ||
        !(reading_.share < 1)) {
      continue;
    }
    ++mixed_;
    share_sum_ += static_cast<double>(reading_.share);
    const float log_mass = reading_.log_mass;
    // This is (1 - g) p + g q divided by 1 - g, so only the logits of tokens with votes change.
    const float factor = reading_.share / (1 - reading_.share);
    for (const auto& [token, vote] : reading_.votes) {
      if (token < row.size()) {
        float& logit = row[token];
        logit = log_mass + std::log(std::exp(logit - log_mass) + factor * vote);
      }
    }
  }
}

MemoryUse MemoryReader::use() const {
  return {.entries = memory_->entries(),
          .positions = mixed_,
          .share = mixed_ == 0 ? 0 : share_sum_ / static_cast<double>(mixed_)};
}

std::vector<MemoryReading> MemoryReader::Read(const MemoryWindow& window,
                                              std::span<const int> positions,
                                              std::span<const float> hidden,
                                              std::span<const float> logits) {
  std::vector<MemoryReading> readings(positions.size());
  if (memory_->empty() || positions.empty()) {
    return readings;
  }
  const std::vector<Words> words = WordsOf(window, positions);
  const std::vector<MemoryNeighbours> near = NeighboursOf(window, positions);
  const std::span<ScannedRow> rows = scan_.Scan(near, hidden);
  const size_t vocabulary = logits.size() / positions.size();
  for (size_t r = 0; r < positions.size(); ++r) {
    ReadRow(window, near[r], words[r], logits.subspan(r * vocabulary, vocabulary), &rows[r],
            &readings[r]);
  }
  return readings;
}

}  // namespace ruvd::inference
