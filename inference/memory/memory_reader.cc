// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/memory/memory_reader.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/parallel.h"
#include "base/status.h"
#include "inference/kernels/kernel_table.h"
#include "inference/memory/limits.h"

namespace ruvd::inference {
namespace {

// Entries whose weight is less than e^-9 of the largest one have no vote.
constexpr float kVoteRange = 9;
constexpr float kLeastTopLog = -9.2F;
constexpr float kLeastModelLog = -12;
constexpr float kLeastVote = 1e-4F;

float LogOfVote(float vote) {
  return std::log(std::max(vote, kLeastVote));
}

}  // namespace

MemoryReader::MemoryReader(std::shared_ptr<const MemoryParameters> parameters,
                           std::shared_ptr<const TokenMemory> memory)
    : parameters_(std::move(parameters)),
      memory_(std::move(memory)),
      bound_(parameters_->ScoreBound()),
      scratch_(kPackedScratchBytes) {}

MemoryReader::Neighbours MemoryReader::NeighboursOf(const MemoryWindow& window, int position) {
  const auto known = [&](ptrdiff_t place) {
    if (place < 0 || place >= static_cast<ptrdiff_t>(window.tokens.size())) {
      return kNoToken;
    }
    const TokenId token = window.tokens[static_cast<size_t>(place)];
    return token == window.mask ? kNoToken : token;
  };
  Neighbours near;
  for (size_t i = 0; i < kMemoryLeft; ++i) {
    near.left[i] = known(position - 1 - static_cast<ptrdiff_t>(i));
  }
  for (size_t i = 0; i < kMemoryRight; ++i) {
    near.right[i] = window.causal ? kNoToken : known(position + 1 + static_cast<ptrdiff_t>(i));
  }
  return near;
}

std::vector<MemoryReader::Words> MemoryReader::WordsOf(const MemoryWindow& window,
                                                       std::span<const int> positions) const {
  const size_t vocabulary = parameters_->vocabulary();
  const double all = static_cast<double>(memory_->tokens() + vocabulary);
  double ratio = 0;
  size_t seen = 0;
  size_t pairs = 0;
  size_t shared = 0;
  TokenId before = kNoToken;
  size_t next = 0;
  const auto see_until = [&](size_t end) {
    for (; next < std::min(end, window.tokens.size()); ++next) {
      const TokenId token = window.tokens[next];
      const bool known = token != window.mask && token < vocabulary;
      if (known) {
        ++seen;
        ratio += std::log((static_cast<double>(memory_->CountOf(token)) + 1) / all) -
                 static_cast<double>(parameters_->public_log_frequency[token]);
        if (before != kNoToken) {
          ++pairs;
          shared += memory_->HasPair(before, token) ? 1 : 0;
        }
      }
      before = known ? token : kNoToken;
    }
    return Words{
        .ratio = seen == 0 ? 0.0F : static_cast<float>(ratio / static_cast<double>(seen)),
        .shared_pairs = pairs == 0 ? 0.0F : static_cast<float>(shared) / static_cast<float>(pairs)};
  };
  if (!window.causal) {
    return std::vector<Words>(positions.size(), see_until(window.tokens.size()));
  }
  std::vector<Words> words;
  for (const int position : positions) {
    words.push_back(see_until(static_cast<size_t>(position)));
  }
  return words;
}

void MemoryReader::FindBonuses(const MemorySegment& segment, Row* row) const {
  row->left_bonuses.clear();
  row->right_bonuses.clear();
  row->next_left = 0;
  row->next_right = 0;
  const Neighbours& near = row->near;
  if (near.left[0] != kNoToken) {
    for (const uint32_t place : segment.PlacesOfToken(near.left[0])) {
      const auto entry = static_cast<ptrdiff_t>(place) + 1;
      float bonus = parameters_->left[0];
      for (size_t i = 1; i < kMemoryLeft && near.left[i] != kNoToken &&
                         segment.token(entry - 1 - static_cast<ptrdiff_t>(i)) == near.left[i];
           ++i) {
        bonus += parameters_->left[i];
      }
      if (near.right[0] != kNoToken && segment.token(entry + 1) == near.right[0]) {
        bonus += parameters_->both;
      }
      row->left_bonuses.emplace_back(static_cast<uint32_t>(entry), bonus);
    }
  }
  if (near.right[0] != kNoToken) {
    for (const uint32_t place : segment.PlacesOfToken(near.right[0])) {
      const auto entry = static_cast<ptrdiff_t>(place) - 1;
      if (entry < 0) {
        continue;
      }
      float bonus = parameters_->right[0];
      for (size_t i = 1; i < kMemoryRight && near.right[i] != kNoToken &&
                         segment.token(entry + 1 + static_cast<ptrdiff_t>(i)) == near.right[i];
           ++i) {
        bonus += parameters_->right[i];
      }
      row->right_bonuses.emplace_back(static_cast<uint32_t>(entry), bonus);
    }
  }
}

// Scans the entries of one run. `scores` are the cosines over the temperature, by place from the
// run's begin on.
void MemoryReader::ScanStretch(const MemorySegment& segment, const MemorySegment::Stretch& stretch,
                               float* scores, Row* row) const {
  const KernelTable& kernels = Kernels();
  const size_t count = stretch.entries();
  float* const own = scores + (stretch.first - stretch.begin);
  row->best_cosine = std::max(row->best_cosine, kernels.max(own, count) * parameters_->temperature);
  kernels.add(segment.biases().data() + stretch.first, count, own);
  const auto apply = [&](const std::vector<std::pair<uint32_t, float>>& bonuses, size_t* next) {
    for (; *next < bonuses.size() && bonuses[*next].first < stretch.end; ++*next) {
      if (bonuses[*next].first >= stretch.first) {
        own[bonuses[*next].first - stretch.first] += bonuses[*next].second;
      }
    }
  };
  apply(row->left_bonuses, &row->next_left);
  apply(row->right_bonuses, &row->next_right);
  row->best_score = std::max(row->best_score, kernels.max(own, count));
  row->mass += static_cast<double>(kernels.sum_exp(own, count, bound_));
  thread_local std::vector<uint32_t> places;
  places.resize(std::max(places.size(), count));
  const size_t found = kernels.find_above(own, count, row->best_score - kVoteRange, places.data());
  for (const uint32_t place : std::span(places).first(found)) {
    row->candidate_scores.push_back(own[place]);
    row->candidate_tokens.push_back(segment.token(static_cast<ptrdiff_t>(stretch.first + place)));
  }
}

// Scans runs [first, last) of a segment.
void MemoryReader::ScanTile(const MemorySegment& segment, size_t first, size_t last, size_t rows) {
  const std::span<const MemorySegment::Stretch> stretches = segment.stretches();
  const size_t begin = stretches[first].begin;
  const size_t places = stretches[last - 1].begin + stretches[last - 1].places - begin;
  scores_.resize(std::max(scores_.size(), rows * places));
  Kernels().multiply_packed({.w = segment.Keys(begin, places),
                             .first_group = 0,
                             .groups = places / kGroupOutputs,
                             .x = quantized_.view(),
                             .first_row = 0,
                             .rows = rows,
                             .y = scores_.data(),
                             .y_stride = places,
                             .scratch = scratch_.data()});
  for (size_t r = 0; r < rows; ++r) {
    for (size_t i = first; rows_[r].sound && i < last; ++i) {
      ScanStretch(segment, stretches[i], scores_.data() + r * places + (stretches[i].begin - begin),
                  &rows_[r]);
    }
  }
}

void MemoryReader::Scan(const MemoryWindow& window, std::span<const int> positions,
                        std::span<const float> hidden) {
  const size_t rows = positions.size();
  const auto dimension = static_cast<size_t>(parameters_->dimension);
  keys_.resize(rows * dimension);
  parameters_->ComputeKeys(hidden, keys_);
  rows_.resize(std::max(rows_.size(), rows));
  for (size_t r = 0; r < rows; ++r) {
    Row& row = rows_[r];
    const std::span<float> key = std::span(keys_).subspan(r * dimension, dimension);
    row.near = NeighboursOf(window, positions[r]);
    row.sound = std::isfinite(key.front());
    row.best_score = std::numeric_limits<float>::lowest();
    row.best_cosine = -1;
    row.mass = 0;
    row.candidate_scores.clear();
    row.candidate_tokens.clear();
    for (float& value : key) {
      value = row.sound ? value / parameters_->temperature : 0.0F;
    }
  }
  Quantize(SerialRunner(), keys_, dimension, &quantized_);
  for (const auto& segment : memory_->segments()) {
    for (size_t r = 0; r < rows; ++r) {
      FindBonuses(*segment, &rows_[r]);
    }
    const std::span<const MemorySegment::Stretch> stretches = segment->stretches();
    for (size_t first = 0; first < stretches.size();) {
      size_t last = first;
      size_t places = 0;
      while (last < stretches.size() &&
             (last == first || places + stretches[last].places <= limits::kMemoryTilePlaces)) {
        places += stretches[last++].places;
      }
      ScanTile(*segment, first, last, rows);
      first = last;
    }
  }
}

std::pair<TokenId, float> MemoryReader::Vote(Row* row,
                                             std::vector<std::pair<TokenId, float>>* votes) {
  token_votes_.resize(parameters_->vocabulary());
  votes->clear();
  // The best score rose during the scan, so candidates of its beginning may be out of range now.
  std::vector<float>& scores = row->candidate_scores;
  std::vector<TokenId>& tokens = row->candidate_tokens;
  size_t kept = 0;
  for (size_t i = 0; i < scores.size(); ++i) {
    const bool votes_now =
        scores[i] >= row->best_score - kVoteRange && tokens[i] < token_votes_.size();
    scores[kept] = scores[i];
    tokens[kept] = tokens[i];
    kept += votes_now ? 1 : 0;
  }
  const double total =
      static_cast<double>(Kernels().exp_affine(scores.data(), kept, 1, row->best_score));
  for (size_t i = 0; i < kept; ++i) {
    float& vote = token_votes_[tokens[i]];
    if (vote == 0) {
      votes->emplace_back(tokens[i], 0.0F);
    }
    vote += scores[i];
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

bool MemoryReader::ReadRow(const MemoryWindow& window, Row* row, const Words& words,
                           std::span<const float> logits, MemoryReading* reading) {
  reading->votes.clear();
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
  At(x, MemoryFeature::kLeftSeen) = row->near.left[0] != kNoToken ? 1.0F : 0.0F;
  At(x, MemoryFeature::kRightSeen) = row->near.right[0] != kNoToken ? 1.0F : 0.0F;
  At(x, MemoryFeature::kMemoryTop) = LogOfVote(probability);
  At(x, MemoryFeature::kMemoryOfModel) = LogOfVote(of_model);
  At(x, MemoryFeature::kAgree) = top == static_cast<TokenId>(best.place) ? 1.0F : 0.0F;
  At(x, MemoryFeature::kLogMass) = bound_ + static_cast<float>(std::log(row->mass));
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
  Scan(window, positions, hidden);
  const size_t vocabulary = logits.size() / positions.size();
  for (size_t r = 0; r < positions.size(); ++r) {
    const std::span<float> row = logits.subspan(r * vocabulary, vocabulary);
    if (!ReadRow(window, &rows_[r], words[r], row, &reading_) || !(reading_.share > 0) ||
        !(reading_.share < 1)) {
      continue;
    }
    const float largest = Kernels().max(row.data(), row.size());
    const float log_mass = largest + std::log(Kernels().sum_exp(row.data(), row.size(), largest));
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

std::vector<MemoryReading> MemoryReader::Read(const MemoryWindow& window,
                                              std::span<const int> positions,
                                              std::span<const float> hidden,
                                              std::span<const float> logits) {
  std::vector<MemoryReading> readings(positions.size());
  if (memory_->empty() || positions.empty()) {
    return readings;
  }
  const std::vector<Words> words = WordsOf(window, positions);
  Scan(window, positions, hidden);
  const size_t vocabulary = logits.size() / positions.size();
  for (size_t r = 0; r < positions.size(); ++r) {
    ReadRow(window, &rows_[r], words[r], logits.subspan(r * vocabulary, vocabulary), &readings[r]);
  }
  return readings;
}

}  // namespace ruvd::inference
