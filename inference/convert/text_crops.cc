// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/convert/text_crops.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <utility>

#include "base/random.h"
#include "base/status.h"
#include "inference/evaluate/nelbo.h"

namespace ruvd::inference {
namespace {

// Constants that keep the random streams of one seed apart.
constexpr uint64_t kEpochs = 0x65706f6368000000ULL;
constexpr uint64_t kSteps = 0x7374657000000000ULL;
constexpr uint64_t kHeldOut = 0x68656c6400000000ULL;

Random StreamOf(uint64_t seed, uint64_t stream, uint64_t number) {
  return Random(Random(Random(seed ^ stream).Next() + number).Next());
}

// Masks once the crops that begin at `begins`.
std::vector<train::TrainingSequence> MaskCrops(std::span<const TokenId> stream,
                                               std::span<const size_t> begins, int block_length,
                                               const CropOptions& options, Random random) {
  const auto length = static_cast<size_t>(options.length);
  const train::LossOptions loss{.kind = train::LossKind::kBlockDiffusion,
                                .weight_clamp = options.weight_clamp,
                                .block_length = block_length};
  std::vector<TrainingExample> crops;
  std::vector<std::vector<size_t>> spans;
  for (const size_t begin : begins) {
    const std::span<const TokenId> tokens = stream.subspan(begin, length);
    crops.push_back({.prompt = {}, .completion = {tokens.begin(), tokens.end()}});
    spans.push_back(SpansOf({.tokens = tokens}, block_length));
  }
  const std::vector<Corruption> corruptions = DrawCorruptions(spans, random);
  std::vector<train::TrainingSequence> sequences;
  const double share = 1.0 / static_cast<double>(begins.size());
  for (size_t i = 0; i < crops.size(); ++i) {
    sequences.push_back(
        train::CorruptedSequence(options.rules, crops[i], corruptions[i], loss, share));
  }
  return sequences;
}

class CropObjective final : public train::Objective {
 public:
  CropObjective(std::vector<TokenId> stream, const CropOptions& options)
      : stream_(std::move(stream)), options_(options) {
    const auto length = static_cast<size_t>(options.length);
    RUVD_CHECK(stream_.size() >= length);
    // Random offsets cost at most one crop per epoch.
    spare_ = stream_.size() >= 2 * length ? length : 1;
    crops_ = (stream_.size() - (spare_ - 1)) / length;
  }

  std::vector<train::TrainingSequence> Draw(uint64_t step) const override {
    const auto batch = static_cast<uint64_t>(options_.batch);
    std::vector<size_t> begins;
    std::vector<size_t> epoch;
    uint64_t drawn = std::numeric_limits<uint64_t>::max();
    for (uint64_t place = step * batch; place < (step + 1) * batch; ++place) {
      if (place / crops_ != drawn) {
        drawn = place / crops_;
        epoch = Epoch(drawn);
      }
      begins.push_back(epoch[place % crops_]);
    }
    return MaskCrops(stream_, begins, BlockLengthAt(options_, step), options_,
                     StreamOf(options_.seed, kSteps, step));
  }

 private:
  std::vector<size_t> Epoch(uint64_t number) const {
    Random random = StreamOf(options_.seed, kEpochs, number);
    const size_t offset = random.Below(spare_);
    std::vector<size_t> begins(crops_);
    for (size_t i = 0; i < crops_; ++i) {
      begins[i] = offset + i * static_cast<size_t>(options_.length);
    }
    random.Shuffle(std::span(begins));
    return begins;
  }

  std::vector<TokenId> stream_;
  CropOptions options_;
  size_t spare_ = 1;
  size_t crops_ = 0;
};

}  // namespace

int BlockLengthAt(const CropOptions& options, uint64_t step) {
  const double grown = options.anneal * options.steps;
  if (static_cast<double>(step) >= grown) {
    return options.block_length;
  }
  const int doublings = std::bit_width(static_cast<unsigned>(options.block_length) - 1);
  const int done = static_cast<int>(static_cast<double>(step) / grown * doublings);
  return std::min(1 << done, options.block_length);
}

std::unique_ptr<train::Objective> MakeCropObjective(std::vector<TokenId> stream,
                                                    const CropOptions& options) {
  return std::make_unique<CropObjective>(std::move(stream), options);
}

std::vector<train::TrainingSequence> HeldOutCrops(std::span<const TokenId> stream, int count,
                                                  const CropOptions& options) {
  const auto length = static_cast<size_t>(options.length);
  RUVD_CHECK(stream.size() >= length && count > 0);
  const size_t crops = std::min(static_cast<size_t>(count), stream.size() / length);
  std::vector<size_t> begins(crops);
  for (size_t i = 0; i < crops; ++i) {
    begins[i] = crops == 1 ? 0 : i * (stream.size() - length) / (crops - 1);
  }
  CropOptions exact = options;
  exact.weight_clamp = std::numeric_limits<double>::infinity();
  return MaskCrops(stream, begins, options.block_length, exact,
                   StreamOf(options.seed, kHeldOut, 0));
}

}  // namespace ruvd::inference
