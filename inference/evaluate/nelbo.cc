// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/evaluate/nelbo.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "base/random.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/evaluate/limits.h"
#include "inference/kernels/kernel_table.h"

namespace ruvd::inference {
namespace {

// Returns k of the numbers 0..length-1, ascending.
std::vector<size_t> ChooseSubset(size_t length, size_t k, Random& random) {
  std::vector<size_t> all(length);
  std::iota(all.begin(), all.end(), size_t{0});
  for (size_t i = 0; i < k; ++i) {
    std::swap(all[i], all[i + random.Below(length - i)]);
  }
  all.resize(k);
  std::ranges::sort(all);
  return all;
}

// Returns the row of the hidden states that predicts the token at `position` of a bidirectional or
// causal text.
size_t SourceRow(size_t position, bool shift) {
  return shift && position > 0 ? position - 1 : position;
}

// Returns that row for a text of `length` tokens given as [noisy ; clean]. Inside a block it is the
// noisy left neighbour; at the start of a block it is the clean token before it, which a decoder
// has in its cache.
size_t BlockSourceRow(size_t position, size_t length, size_t block, bool shift) {
  if (!shift || position == 0) {
    return position;
  }
  return position % block == 0 ? length + position - 1 : position - 1;
}

// Returns -log softmax(logits)[target].
double CrossEntropy(std::span<const float> logits, TokenId target) {
  const float largest = Kernels().max(logits.data(), logits.size());
  const double sum = Kernels().sum_exp(logits.data(), logits.size(), largest);
  return static_cast<double>(largest) + std::log(sum) - static_cast<double>(logits[target]);
}

// Changes logits of rows [begin, begin + count) of a scored text as a memory does.
using MixRows =
    std::function<void(size_t begin, std::span<const float> hidden, std::span<float> logits)>;

// Sets nats[i] to the cross-entropy of targets[i] under the logits of row rows[i] of `hidden`,
// changed by `mix` if it is not null.
void ScoreRows(Transformer& transformer, const std::vector<float>& hidden,
               const std::vector<size_t>& rows, const std::vector<TokenId>& targets,
               const AdapterMix* adapters, const MixRows& mix, std::span<double> nats) {
  const auto width = static_cast<size_t>(transformer.model().config().width);
  const auto vocabulary = static_cast<size_t>(transformer.model().config().vocabulary);
  std::vector<float> chosen;
  std::vector<float> logits;
  for (size_t begin = 0; begin < rows.size(); begin += limits::kScoreRows) {
    const size_t count = std::min(limits::kScoreRows, rows.size() - begin);
    chosen.resize(count * width);
    logits.resize(count * vocabulary);
    for (size_t i = 0; i < count; ++i) {
      std::copy_n(hidden.data() + rows[begin + i] * width, width, chosen.data() + i * width);
    }
    transformer.Logits(chosen, adapters, logits);
    if (mix) {
      mix(begin, chosen, logits);
    }
    for (size_t i = 0; i < count; ++i) {
      nats[begin + i] =
          CrossEntropy(std::span(logits).subspan(i * vocabulary, vocabulary), targets[begin + i]);
    }
  }
}

// Lets a memory read the masked rows of a text, block by block, as a decoder sees them: the blocks
// before without masks, and nothing of those behind.
class MaskedMix {
 public:
  MaskedMix(MemoryReader& memory, const ScoredText& text, const Corruption& corruption,
            int block_length, TokenId mask)
      : memory_(memory), text_(text), corruption_(corruption), mask_(mask) {
    block_ = block_length > 0 ? static_cast<size_t>(block_length) : text.tokens.size();
  }
  void operator()(size_t begin, std::span<const float> hidden, std::span<float> logits) const {
    const auto width = static_cast<size_t>(memory_.parameters().width);
    const size_t count = hidden.size() / width;
    const size_t vocabulary = logits.size() / count;
    for (size_t first = 0; first < count;) {
      const size_t block = BlockOf(begin + first);
      size_t last = first;
      std::vector<int> positions;
      while (last < count && BlockOf(begin + last) == block) {
        positions.push_back(static_cast<int>(PositionOf(begin + last++)));
      }
      const std::vector<TokenId> tokens = Seen(block);
      memory_.Mix({.tokens = tokens,
                   .mask = mask_,
                   .t = static_cast<float>(corruption_.masked[begin + first].t),
                   .masked = MaskedIn(block)},
                  positions, hidden.subspan(first * width, positions.size() * width),
                  logits.subspan(first * vocabulary, positions.size() * vocabulary));
      first = last;
    }
  }

 private:
  size_t PositionOf(size_t row) const { return text_.first + corruption_.masked[row].index; }
  size_t BlockOf(size_t row) const { return PositionOf(row) / block_; }
  size_t MaskedIn(size_t block) const {
    return static_cast<size_t>(
        std::ranges::count_if(corruption_.masked, [&](const Corruption::Position& masked) {
          return (text_.first + masked.index) / block_ == block;
        }));
  }
  // The text to the end of a block, with the masks of this block.
  std::vector<TokenId> Seen(size_t block) const {
    const size_t end = std::min((block + 1) * block_, text_.tokens.size());
    std::vector<TokenId> tokens(text_.tokens.begin(),
                                text_.tokens.begin() + static_cast<ptrdiff_t>(end));
    for (const Corruption::Position& masked : corruption_.masked) {
      const size_t position = text_.first + masked.index;
      if (position / block_ == block) {
        tokens[position] = mask_;
      }
    }
    return tokens;
  }

  MemoryReader& memory_;
  const ScoredText& text_;
  const Corruption& corruption_;
  size_t block_;
  const TokenId mask_;
};

}  // namespace

std::vector<Corruption> DrawCorruptions(std::span<const size_t> spans, int count, uint64_t seed) {
  Random random(seed);
  const std::vector<std::vector<size_t>> texts(static_cast<size_t>(count),
                                               {spans.begin(), spans.end()});
  return DrawCorruptions(texts, random);
}

std::vector<Corruption> DrawCorruptions(std::span<const std::vector<size_t>> texts,
                                        Random& random) {
  size_t strata = 0;
  for (const std::vector<size_t>& spans : texts) {
    strata += spans.size();
  }
  std::vector<double> shares(strata);  // u = (i + U) / strata, in random order
  for (size_t i = 0; i < strata; ++i) {
    shares[i] = (static_cast<double>(i) + random.Uniform()) / static_cast<double>(strata);
  }
  random.Shuffle(std::span(shares));
  std::vector<Corruption> draws;
  size_t next = 0;
  for (const std::vector<size_t>& spans : texts) {
    Corruption& draw = draws.emplace_back();
    for (const size_t length : spans) {
      const double scaled = shares[next++] * static_cast<double>(length);
      const size_t k = std::min(static_cast<size_t>(scaled) + 1, length);
      const double t = static_cast<double>(k) / static_cast<double>(length);
      for (const size_t offset : ChooseSubset(length, k, random)) {
        draw.masked.push_back({.index = draw.length + offset, .weight = 1.0 / t, .t = t});
      }
      draw.length += length;
    }
  }
  return draws;
}

double WeightedNats(const Corruption& corruption, std::span<const double> nats) {
  double sum = 0;
  for (size_t i = 0; i < nats.size(); ++i) {
    sum += corruption.masked[i].weight * nats[i];
  }
  return sum / static_cast<double>(corruption.length);
}

std::vector<size_t> SpansOf(const ScoredText& text, int block_length) {
  if (block_length <= 0) {
    return {text.tokens.size() - text.first};
  }
  const auto block = static_cast<size_t>(block_length);
  std::vector<size_t> spans;
  for (size_t begin = text.first; begin < text.tokens.size();) {
    const size_t end = std::min((begin / block + 1) * block, text.tokens.size());
    spans.push_back(end - begin);
    begin = end;
  }
  return spans;
}

std::vector<TokenId> KnownTokens(const ScoredText& text, const Corruption& corruption) {
  std::vector<TokenId> known;
  auto masked = corruption.masked.begin();
  for (size_t i = 0; text.first + i < text.tokens.size(); ++i) {
    if (masked != corruption.masked.end() && masked->index == i) {
      ++masked;
    } else {
      known.push_back(text.tokens[text.first + i]);
    }
  }
  return known;
}

CorruptedText CorruptText(const ScoredText& text, const Corruption& corruption, int block_length,
                          TokenId mask, bool shift) {
  const size_t length = text.tokens.size();
  CorruptedText corrupted;
  corrupted.tokens.assign(text.tokens.begin(), text.tokens.end());
  for (const Corruption::Position& masked : corruption.masked) {
    const size_t position = text.first + masked.index;
    corrupted.tokens[position] = mask;
    corrupted.targets.push_back(text.tokens[position]);
    corrupted.rows.push_back(
        block_length > 0
            ? BlockSourceRow(position, length, static_cast<size_t>(block_length), shift)
            : SourceRow(position, shift));
  }
  if (block_length > 0) {
    corrupted.tokens.insert(corrupted.tokens.end(), text.tokens.begin(), text.tokens.end());
    corrupted.attention = {.kind = Attention::Kind::kNoisyAndClean, .block_length = block_length};
  }
  return corrupted;
}

absl::Status ScoreMasked(Transformer& transformer, const ScoredText& text,
                         const Corruption& corruption, int block_length, const AdapterMix* adapters,
                         std::span<double> nats, MemoryReader* memory) {
  const Model& model = transformer.model();
  const std::optional<TokenId> mask = model.tokenizer().mask_id();
  if (!mask) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kModeUnsupported,
                 "model {} has no mask token; score it as autoregressive", model.config().name);
  }
  const CorruptedText corrupted =
      CorruptText(text, corruption, block_length, *mask, model.config().shift_logits);
  ForwardOutput output;
  RETURN_IF_ERROR(transformer.Forward(
      {.tokens = corrupted.tokens, .attention = corrupted.attention, .adapters = adapters},
      &output));
  MixRows mix;
  if (memory != nullptr) {
    mix = MaskedMix(*memory, text, corruption, block_length, *mask);
  }
  ScoreRows(transformer, output.hidden, corrupted.rows, corrupted.targets, adapters, mix, nats);
  return absl::OkStatus();
}

absl::Status ScoreNextTokens(Transformer& transformer, const ScoredText& text,
                             const AdapterMix* adapters, std::span<double> nats,
                             MemoryReader* memory) {
  RUVD_CHECK(text.first > 0 && nats.size() == text.tokens.size() - text.first);
  ForwardOutput output;
  // The last token predicts no scored token.
  RETURN_IF_ERROR(transformer.Forward({.tokens = text.tokens.first(text.tokens.size() - 1),
                                       .attention = {.kind = Attention::Kind::kCausal},
                                       .adapters = adapters},
                                      &output));
  std::vector<size_t> rows(nats.size());
  std::iota(rows.begin(), rows.end(), text.first - 1);
  const std::vector<TokenId> targets(text.tokens.begin() + static_cast<ptrdiff_t>(text.first),
                                     text.tokens.end());
  MixRows mix;
  if (memory != nullptr) {
    mix = [&](size_t begin, std::span<const float> hidden, std::span<float> logits) {
      std::vector<int> positions(hidden.size() / static_cast<size_t>(memory->parameters().width));
      std::iota(positions.begin(), positions.end(), static_cast<int>(text.first + begin));
      memory->Mix({.tokens = text.tokens, .causal = true}, positions, hidden, logits);
    };
  }
  ScoreRows(transformer, output.hidden, rows, targets, adapters, mix, nats);
  return absl::OkStatus();
}

}  // namespace ruvd::inference
