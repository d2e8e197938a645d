// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/instant/instant_memory.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "inference/kernels/kernel_table.h"

namespace ruvd::inference {
namespace {

// Keys decoded at a time: with a width of 512 they take 128 KiB, which fits in the L2 cache.
constexpr size_t kPanelKeys = 64;

}  // namespace

size_t InstantMemory::CountNewest(std::span<const std::shared_ptr<const InstantStep>> steps,
                                  size_t positions) {
  size_t count = 0;
  size_t taken = 0;
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    taken += (*step)->size();
    if (count > 0 && taken > positions) {
      break;
    }
    ++count;
  }
  return count;
}

std::shared_ptr<const InstantMemory> InstantMemory::Of(
    const InstantMemoryOptions& options,
    std::span<const std::shared_ptr<const InstantStep>> steps) {
  auto memory = std::make_shared<InstantMemory>(options);
  const auto held = steps.last(CountNewest(steps, options.capacity + options.reserve));
  memory->steps_.assign(held.begin(), held.end());
  memory->reserved_ = held.size() - CountNewest(held, options.capacity);
  for (const std::shared_ptr<const InstantStep>& step : memory->ActiveSteps()) {
    for (size_t i = 0; i < step->size(); ++i) {
      memory->votes_.push_back(step->vote(i));
    }
    memory->positions_ += step->size();
  }
  return memory;
}

std::shared_ptr<const InstantMemory> InstantMemory::With(
    std::shared_ptr<const InstantStep> step) const {
  std::vector<std::shared_ptr<const InstantStep>> steps;
  for (const std::shared_ptr<const InstantStep>& other : steps_) {
    if (other->id() != step->id() && other->width() == step->width()) {
      steps.push_back(other);
    }
  }
  steps.push_back(std::move(step));
  return Of(options_, steps);
}

std::shared_ptr<const InstantMemory> InstantMemory::Without(std::string_view id) const {
  std::vector<std::shared_ptr<const InstantStep>> steps;
  for (const std::shared_ptr<const InstantStep>& step : steps_) {
    if (step->id() != id) {
      steps.push_back(step);
    }
  }
  return Of(options_, steps);
}

bool InstantMemory::Has(std::string_view id) const {
  return std::any_of(steps_.begin(), steps_.end(),
                     [id](const auto& step) { return step->id() == id; });
}

size_t InstantMemory::bytes() const {
  size_t bytes = sizeof(*this) + votes_.capacity() * sizeof(InstantStep::Vote);
  for (const std::shared_ptr<const InstantStep>& step : steps_) {
    bytes += step->bytes();
  }
  return bytes;
}

void InstantMemory::Adjust(std::span<const float> hidden, size_t rows,
                           std::span<float> logits) const {
  const size_t width = rows == 0 ? 0 : hidden.size() / rows;
  if (positions_ == 0 || steps_.front()->width() != width) {
    return;
  }
  thread_local std::vector<float> scores;
  scores.resize(rows * positions_);
  Score(hidden, rows, scores);
  const size_t vocabulary = logits.size() / rows;
  for (size_t row = 0; row < rows; ++row) {
    const float length = EuclideanNorm(hidden.subspan(row * width, width));
    if (!(length > 0) || !std::isfinite(length)) {
      continue;
    }
    const std::span<float> similarities = std::span(scores).subspan(row * positions_, positions_);
    for (float& value : similarities) {
      value /= length;
    }
    const std::span<float> own = logits.subspan(row * vocabulary, vocabulary);
    if (options_.rows) {
      ApplyRows(similarities, length, own);
    }
    if (options_.neighbour_share > 0 && options_.neighbours > 0) {
      MixNeighbours(similarities, own);
    }
  }
}

void InstantMemory::Score(std::span<const float> hidden, size_t rows,
                          std::span<float> scores) const {
  const size_t width = hidden.size() / rows;
  thread_local std::vector<float> panel;
  panel.resize(kPanelKeys * width);
  size_t begin = 0;
  for (const std::shared_ptr<const InstantStep>& step : ActiveSteps()) {
    if (step->size() == 0) {
      continue;
    }
    Kernels().multiply_abt({.a = hidden.data(),
                            .a_stride = width,
                            .rows = rows,
                            .b = reinterpret_cast<const uint8_t*>(step->keys()),
                            .b_stride = width * sizeof(uint16_t),
                            .b_type = TensorType::kF16,
                            .outputs = step->size(),
                            .columns = width,
                            .y = scores.data() + begin,
                            .y_stride = positions_,
                            .panel = panel.data(),
                            .panel_floats = panel.size()});
    begin += step->size();
  }
}

void InstantMemory::ApplyRows(std::span<const float> scores, float length,
                              std::span<float> logits) const {
  size_t position = 0;
  size_t later = steps();
  for (const std::shared_ptr<const InstantStep>& step : ActiveSteps()) {
    --later;
    const float factor = length * std::pow(options_.decay, static_cast<float>(later));
    for (size_t i = 0; i < step->size(); ++i, ++position) {
      const float similarity = factor * scores[position];
      for (const InstantStep::Change& change : step->changes(i)) {
        if (change.token < logits.size()) {
          logits[change.token] += change.coefficient * similarity;
        }
      }
    }
  }
}

std::vector<InstantMemory::Neighbour> InstantMemory::Nearest(std::span<const float> scores) const {
  constexpr size_t kPiece = 256;
  const auto nearer = [](const Neighbour& a, const Neighbour& b) {
    return a.similarity != b.similarity ? a.similarity > b.similarity : a.position < b.position;
  };
  const auto most =
      static_cast<size_t>(std::min(options_.neighbours, limits::kMaxInstantNeighbours));
  std::array<uint32_t, kPiece> places;  // NOLINT(*-member-init): written before it is read
  std::vector<Neighbour> kept;          // when full, a heap with the farthest in front
  kept.reserve(most);
  float least = std::numeric_limits<float>::lowest();
  for (size_t begin = 0; begin < scores.size(); begin += kPiece) {
    const std::span<const float> piece =
        scores.subspan(begin, std::min(kPiece, scores.size() - begin));
    const size_t found = Kernels().find_above(piece.data(), piece.size(), least, places.data());
    for (const uint32_t place : std::span(places).first(found)) {
      const Neighbour neighbour{piece[place], static_cast<uint32_t>(begin + place)};
      if (!(votes_[neighbour.position].weight > 0)) {
        continue;
      }
      if (kept.size() == most) {
        if (!nearer(neighbour, kept.front())) {
          continue;
        }
        std::pop_heap(kept.begin(), kept.end(), nearer);
        kept.pop_back();
      }
      kept.push_back(neighbour);
      std::push_heap(kept.begin(), kept.end(), nearer);
      least = kept.size() == most ? kept.front().similarity : least;
    }
  }
  std::sort_heap(kept.begin(), kept.end(), nearer);
  return kept;
}

void InstantMemory::MixNeighbours(std::span<const float> scores, std::span<float> logits) const {
  const std::vector<Neighbour> nearest = Nearest(scores);
  if (nearest.empty()) {
    return;
  }
  std::vector<TokenProbability> votes;
  float total = 0;
  for (const Neighbour& neighbour : nearest) {
    const InstantStep::Vote& vote = votes_[neighbour.position];
    const float distance = neighbour.similarity - nearest.front().similarity;
    const float weight = vote.weight * std::exp(distance / options_.temperature);
    total += weight;
    const auto known = std::find_if(votes.begin(), votes.end(),
                                    [&](const auto& other) { return other.token == vote.token; });
    if (known != votes.end()) {
      known->probability += weight;
    } else {
      votes.push_back({vote.token, weight});
    }
  }
  const float largest = Kernels().max(logits.data(), logits.size());
  const float mass = Kernels().sum_exp(logits.data(), logits.size(), largest);
  const float log_mass = largest + std::log(mass);
  if (!std::isfinite(log_mass) || !std::isfinite(total)) {
    return;
  }
  const float evidence = total * std::exp((nearest.front().similarity - 1) / options_.temperature);
  const float share =
      options_.neighbour_share * (options_.prior > 0 ? evidence / (evidence + options_.prior) : 1);
  // This is (1 - s) p + s q divided by 1 - s, so only the logits of tokens with votes change.
  const float factor = share / (1 - share) / total;
  for (const TokenProbability& vote : votes) {
    if (vote.token < logits.size()) {
      float& logit = logits[vote.token];
      logit = log_mass + std::log(std::exp(logit - log_mass) + factor * vote.probability);
    }
  }
}

}  // namespace ruvd::inference
