// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests the whole backward pass in double: every kind of change at every site under every attention
// against central differences, for every memory limit; per-sequence gradients; what observers see.

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "inference/train/network_pass.h"
#include "tests/inference/dense_network.h"
#include "tests/inference/differences.h"

namespace ruvd::inference::train {
namespace {

using test::DenseNetwork;
using test::ExpectGradient;
using test::RandomVector;
using test::Vector;

const Attention kFull{.kind = Attention::Kind::kBidirectional};
const Attention kCausal{.kind = Attention::Kind::kCausal};
const Attention kBlocks{.kind = Attention::Kind::kBlockCausal, .block_length = 2};
const Attention kNoisy{.kind = Attention::Kind::kNoisyAndClean, .block_length = 2};

// A sequence with predictions at some of its rows, one row twice.
TrainingSequence Sequence(size_t tokens, const Attention& attention, uint64_t seed) {
  Random random(seed);
  TrainingSequence sequence{.tokens = {}, .attention = attention, .predictions = {}};
  for (size_t i = 0; i < tokens; ++i) {
    sequence.tokens.push_back(static_cast<TokenId>(random.Below(9)));
  }
  for (size_t i = 0; i < tokens; i += 2) {
    sequence.predictions.push_back({.row = static_cast<uint32_t>(i),
                                    .target = static_cast<TokenId>(random.Below(9)),
                                    .weight = 0.2 + random.Uniform()});
  }
  sequence.predictions.push_back(
      {.row = 0, .target = static_cast<TokenId>(random.Below(9)), .weight = 0.4});
  return sequence;
}

std::vector<TrainingSequence> Batch() {
  return {Sequence(5, kFull, 1), Sequence(4, kCausal, 2), Sequence(6, kNoisy, 3),
          Sequence(5, kBlocks, 4)};
}

std::vector<Site> AllSites(const NetworkShape& shape, size_t first) {
  std::vector<Site> sites;
  for (size_t layer = first; layer < shape.layers; ++layer) {
    for (size_t i = 0; i < kLayerLinears; ++i) {
      sites.push_back({layer, static_cast<Linear>(i)});
    }
  }
  sites.push_back({shape.layers, Linear::kHead});
  return sites;
}

void AddChange(ChangeKind kind, const Site& site, const NetworkShape& shape, Random& random,
               ChangeSet<double>* changes) {
  constexpr size_t kRank = 2;
  const Vector down = RandomVector(kRank * shape.In(site.linear), random, 0.5);
  const Vector up = RandomVector(kRank * shape.Out(site.linear), random, 0.5);
  if (kind == ChangeKind::kLora) {
    changes->AddLora(site, kRank, 0.8, down);
  } else if (kind == ChangeKind::kFfa) {
    changes->AddFfa(site, kRank, 0.8, down);
  } else {
    changes->AddCore(site, kRank, 0.8, up, down);
  }
}

// Nothing is zero, so that every path matters.
void Randomise(ChangeSet<double>* changes, Random& random) {
  changes->parameters() = RandomVector(changes->parameters().size(), random, 0.4);
}

struct Network {
  explicit Network(const DenseNetwork::Options& options = {}, uint64_t memory = 1 << 20)
      : weights(options),
        changes(weights.shape()),
        pass(weights, SerialRunner(), {.memory_bytes = memory}) {}

  Vector Gradient(const std::vector<TrainingSequence>& batch) {
    Vector gradient(changes.parameters().size());
    const std::vector<double*> places(batch.size(), gradient.data());
    pass.Run(batch, {.changes = &changes, .gradients = places});
    return gradient;
  }
  double Loss(const std::vector<TrainingSequence>& batch) {
    return pass.Run(batch, {.changes = &changes});
  }
  void ExpectGradients(const std::vector<TrainingSequence>& batch) {
    const Vector gradient = Gradient(batch);
    ExpectGradient(&changes.parameters(), gradient, [&] { return Loss(batch); });
  }

  DenseNetwork weights;
  ChangeSet<double> changes;
  NetworkPass<double> pass;
};

class SiteGradientTest : public ::testing::TestWithParam<std::tuple<ChangeKind, size_t>> {};

// Tests one change alone: the backward pass ends at its site.
TEST_P(SiteGradientTest, AgreesWithDifferences) {
  const auto& [kind, index] = GetParam();
  Network network;
  const std::vector<Site> sites = AllSites(network.weights.shape(), 0);
  Random random(5);
  AddChange(kind, sites[index], network.weights.shape(), random, &network.changes);
  Randomise(&network.changes, random);
  network.ExpectGradients(Batch());
}

INSTANTIATE_TEST_SUITE_P(Sites, SiteGradientTest,
                         ::testing::Combine(::testing::Values(ChangeKind::kLora, ChangeKind::kFfa,
                                                              ChangeKind::kCore),
                                            ::testing::Range(size_t{0}, size_t{22})));

// Tests all changes at once, kinds taking turns, with and without what a layer may lack.
TEST(NetworkGradientTest, ChangesEverywhere) {
  for (const DenseNetwork::Options& options :
       {DenseNetwork::Options{}, DenseNetwork::Options{.norms = false, .biases = false},
        DenseNetwork::Options{.adjacent = true}}) {
    for (const size_t first : {size_t{0}, size_t{1}}) {
      Network network(options);
      Random random(6);
      size_t kind = 0;
      for (const Site& site : AllSites(network.weights.shape(), first)) {
        AddChange(static_cast<ChangeKind>(kind++ % 3), site, network.weights.shape(), random,
                  &network.changes);
      }
      Randomise(&network.changes, random);
      network.ExpectGradients(Batch());
    }
  }
}

TEST(NetworkGradientTest, SlidingWindow) {
  Network network({.sliding_window = 2});
  Random random(7);
  AddChange(ChangeKind::kLora, {0, Linear::kKey}, network.weights.shape(), random,
            &network.changes);
  Randomise(&network.changes, random);
  network.ExpectGradients({Sequence(7, kCausal, 1)});
}

// Every row predicts, so that the last layer leaves none out.
TEST(NetworkGradientTest, AllRowsWanted) {
  Network network;
  Random random(8);
  for (const Site& site : AllSites(network.weights.shape(), 2)) {
    AddChange(ChangeKind::kLora, site, network.weights.shape(), random, &network.changes);
  }
  Randomise(&network.changes, random);
  TrainingSequence sequence = Sequence(5, kFull, 1);
  for (uint32_t row = 1; row < 5; row += 2) {
    sequence.predictions.push_back({.row = row, .target = 3, .weight = 0.5});
  }
  network.ExpectGradients({sequence});
}

// Tests a row of the embedding, alone and beneath changes, as input and, if tied, as the token's
// logit. Token 3 occurs in every sequence of the batch and is a target.
TEST(NetworkGradientTest, ARowOfTheEmbedding) {
  for (const bool tied : {false, true}) {
    for (const bool with_changes : {false, true}) {
      for (const uint64_t memory : {uint64_t{1} << 20, uint64_t{1}}) {
        Network network({}, memory);
        const NetworkShape& shape = network.weights.shape();
        Random random(15);
        network.changes.TrainRow(3, tied, RandomVector(shape.width, random));
        if (with_changes) {
          AddChange(ChangeKind::kLora, {1, Linear::kValue}, shape, random, &network.changes);
          AddChange(ChangeKind::kCore, {2, Linear::kDown}, shape, random, &network.changes);
        }
        Randomise(&network.changes, random);
        std::vector<TrainingSequence> batch = Batch();
        for (TrainingSequence& sequence : batch) {
          sequence.tokens[1] = 3;
          sequence.predictions[0].target = 3;
        }
        network.ExpectGradients(batch);
      }
    }
  }
}

// A trained row that is equal to the frozen one changes nothing; if untied, a row that no text has
// changes nothing either.
TEST(NetworkGradientTest, ARowIsReadInPlaceOfTheFrozenOne) {
  for (const bool tied : {false, true}) {
    Network network;
    TrainingSequence sequence = Sequence(5, kCausal, 1);
    sequence.tokens = {3, 1, 3, 2, 4};
    const double frozen = network.pass.Run(std::vector{sequence}, {});
    Vector row(network.weights.shape().width);
    network.weights.Embed(std::vector<TokenId>{3}, row);
    network.changes.TrainRow(3, tied, row);
    if (!tied) {
      EXPECT_EQ(network.Loss({sequence}), frozen);
    }
    network.changes.parameters()[0] += 0.5;
    EXPECT_NE(network.Loss({sequence}), frozen);
    sequence.tokens = {0, 1, 0, 2, 4};
    const bool same = network.Loss({sequence}) == network.pass.Run(std::vector{sequence}, {});
    EXPECT_EQ(same, !tied);
  }
}

Network MakeFull(uint64_t memory) {
  return Network({}, memory);
}

TEST(NetworkGradientTest, MemoryDecidesNothingButTheOrderOfSums) {
  Vector expected;
  uint64_t least = 0;
  // The three limits keep everything, keep groups, and run one sequence at a time with layers
  // computed again.
  for (const uint64_t memory : {uint64_t{1} << 20, uint64_t{90'000}, uint64_t{1}}) {
    Network network = MakeFull(memory);
    Random random(9);
    for (const Site& site : AllSites(network.weights.shape(), 0)) {
      AddChange(ChangeKind::kLora, site, network.weights.shape(), random, &network.changes);
    }
    Randomise(&network.changes, random);
    const Vector gradient = network.Gradient(Batch());
    if (expected.empty()) {
      expected = gradient;
      least = network.pass.bytes();
    } else {
      EXPECT_LT(network.pass.bytes(), least);
      least = network.pass.bytes();
    }
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(gradient[i], expected[i], 1e-12);
    }
  }
}

// Regression test: a fixed number of rows of the head took all memory, so that every sequence ran
// alone.
TEST(NetworkGradientTest, TheHeadOfALargeVocabularyLeavesMemoryToTheLayers) {
  constexpr uint64_t kMemory = 1 << 20;
  constexpr size_t kVocabulary = 4000;
  Network network({.vocabulary = kVocabulary}, kMemory);
  Random random(12);
  AddChange(ChangeKind::kLora, {0, Linear::kQuery}, network.weights.shape(), random,
            &network.changes);
  Randomise(&network.changes, random);
  std::vector<TrainingSequence> batch;
  size_t predictions = 0;
  for (uint64_t i = 0; i < 12; ++i) {
    predictions += batch.emplace_back(Sequence(8, kFull, i)).predictions.size();
  }
  ASSERT_GT(predictions * kVocabulary * sizeof(double), kMemory);
  Vector gradient(network.changes.parameters().size());
  const std::vector<double*> places(batch.size(), gradient.data());
  network.pass.Begin(batch, {.changes = &network.changes, .gradients = places});
  size_t slices = 1;
  for (; !network.pass.Advance(); ++slices) {
  }
  EXPECT_LE(network.pass.bytes(), kMemory);
  // There is one group: its layers run forwards and backwards once, and the head some rows at a
  // time.
  EXPECT_LT(slices, 2 * network.weights.shape().layers + batch.size());
  Network roomy({.vocabulary = kVocabulary}, uint64_t{64} << 20);
  Random again(12);
  AddChange(ChangeKind::kLora, {0, Linear::kQuery}, roomy.weights.shape(), again, &roomy.changes);
  Randomise(&roomy.changes, again);
  const Vector expected = roomy.Gradient(batch);
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(gradient[i], expected[i], 1e-12);
  }
}

TEST(NetworkGradientTest, GradientsOfSequencesAddUpToThatOfTheBatch) {
  Network network;
  Random random(10);
  for (const Site& site : AllSites(network.weights.shape(), 1)) {
    AddChange(ChangeKind::kLora, site, network.weights.shape(), random, &network.changes);
  }
  Randomise(&network.changes, random);
  const std::vector<TrainingSequence> batch = Batch();
  const Vector sum = network.Gradient(batch);
  std::vector<Vector> each(batch.size(), Vector(sum.size()));
  std::vector<double*> places;
  for (Vector& gradient : each) {
    places.push_back(gradient.data());
  }
  network.pass.Run(batch, {.changes = &network.changes, .gradients = places});
  for (size_t i = 0; i < batch.size(); ++i) {
    const Vector alone = network.Gradient({batch[i]});
    for (size_t j = 0; j < sum.size(); ++j) {
      EXPECT_NEAR(each[i][j], alone[j], 1e-12);
    }
  }
  for (size_t j = 0; j < sum.size(); ++j) {
    double total = 0;
    for (const Vector& gradient : each) {
      total += gradient[j];
    }
    EXPECT_NEAR(total, sum[j], 1e-12);
  }
}

TEST(NetworkGradientTest, ALossFromBehindTheFrozenLayersIsTheSame) {
  for (const Site& site : {Site{0, Linear::kQuery}, Site{1, Linear::kUp}, Site{2, Linear::kDown},
                           Site{3, Linear::kHead}}) {
    for (const uint64_t memory : {uint64_t{1} << 20, uint64_t{1}}) {
      Network network = MakeFull(memory);
      Random random(11);
      AddChange(ChangeKind::kLora, site, network.weights.shape(), random, &network.changes);
      FrozenPrefix<double> prefix;
      const std::vector<TrainingSequence> batch = Batch();
      for (int i = 0; i < 3; ++i) {
        Randomise(&network.changes, random);
        const double loss =
            network.pass.Run(batch, {.changes = &network.changes, .prefix = &prefix});
        EXPECT_EQ(loss, network.Loss(batch));
      }
    }
  }
}

// Regression test: long prompts made it grow without a limit.
TEST(NetworkGradientTest, WhatIsKeptOfTheFrozenLayersHasALimit) {
  Network network = MakeFull(1);  // every sequence is a group
  Random random(13);
  AddChange(ChangeKind::kLora, {1, Linear::kUp}, network.weights.shape(), random, &network.changes);
  const std::vector<TrainingSequence> batch = Batch();
  const size_t row = network.weights.shape().width * sizeof(double);
  FrozenPrefix<double> prefix{.max_bytes = 12 * row};
  for (int i = 0; i < 3; ++i) {
    Randomise(&network.changes, random);
    EXPECT_EQ(network.pass.Run(batch, {.changes = &network.changes, .prefix = &prefix}),
              network.Loss(batch));
    EXPECT_EQ(prefix.streams.size(), 2U) << "5 and 4 rows, not 6 more";
    EXPECT_EQ(prefix.bytes(), 9 * row);
  }
}

// Keeps the gradient with respect to the whole weight matrix: the sum of dy x^T.
class WeightGradients final : public LinearObserver<double> {
 public:
  explicit WeightGradients(const NetworkShape& shape) : shape_(shape) {}
  void Observe(const Site& site, size_t rows, std::span<const double> x,
               std::span<const double> dy) override {
    const size_t in = shape_.In(site.linear);
    const size_t out = shape_.Out(site.linear);
    ASSERT_EQ(x.size(), rows * in);
    ASSERT_EQ(dy.size(), rows * out);
    Vector& sum = sums[site];
    sum.resize(in * out);
    for (size_t row = 0; row < rows; ++row) {
      for (size_t o = 0; o < out; ++o) {
        for (size_t i = 0; i < in; ++i) {
          sum[o * in + i] += dy[row * out + o] * x[row * in + i];
        }
      }
    }
  }
  std::map<Site, Vector> sums;

 private:
  const NetworkShape& shape_;
};

// dL/dB of a LoRA with B = 0 is dL/dW A^T: what the observer saw must give the change's gradient.
TEST(LinearObserverTest, SeesInputsAndOutputGradientsOfEveryLinear) {
  for (const uint64_t memory : {uint64_t{1} << 20, uint64_t{1}}) {
    Network network = MakeFull(memory);
    const NetworkShape& shape = network.weights.shape();
    Random random(12);
    for (const Site& site : AllSites(shape, 0)) {
      AddChange(ChangeKind::kLora, site, shape, random, &network.changes);
    }
    const std::vector<TrainingSequence> batch = Batch();
    const Vector gradient = network.Gradient(batch);
    WeightGradients observer(shape);
    network.pass.Run(batch, {.observer = &observer});
    EXPECT_EQ(observer.sums.size(), 22U);
    for (auto& entry : network.changes.entries()) {
      const size_t in = shape.In(entry.site.linear);
      const Vector& whole = observer.sums[entry.site];
      const std::span<const double> a = network.changes.ParametersOf(entry).first(2 * in);
      for (size_t o = 0; o < shape.Out(entry.site.linear); ++o) {
        for (size_t j = 0; j < 2; ++j) {
          double sum = 0;
          for (size_t i = 0; i < in; ++i) {
            sum += 0.8 * whole[o * in + i] * a[j * in + i];
          }
          EXPECT_NEAR(gradient[entry.offset + 2 * in + o * 2 + j], sum, 1e-12)
              << TensorOf(entry.site);
        }
      }
    }
  }
}

TEST(LinearObserverTest, BeginsAtItsLayer) {
  DenseNetwork weights({});
  NetworkPass<double> pass(weights, SerialRunner(), {.observe_from = 2});
  WeightGradients observer(weights.shape());
  const std::vector<TrainingSequence> batch = Batch();
  pass.Run(batch, {.observer = &observer});
  EXPECT_EQ(observer.sums.size(), 8U);
  EXPECT_EQ(observer.sums.begin()->first.layer, 2U);
}

// Tests the mask of block diffusion by perturbation: a noisy block ignores clean tokens of its own
// and later blocks and all other noisy blocks, and reads exactly the clean blocks before it.
TEST(BlockDiffusionMaskTest, ANoisyBlockSeesTheCleanTextBeforeIt) {
  Network network;
  constexpr size_t kLength = 6;
  TrainingSequence sequence = Sequence(2 * kLength, kNoisy, 13);
  sequence.predictions = {{.row = 2, .target = 1, .weight = 1.0}};  // of noisy block 1
  const double loss = network.Loss({sequence});
  for (size_t i = 0; i < 2 * kLength; ++i) {
    TrainingSequence changed = sequence;
    changed.tokens[i] = (changed.tokens[i] + 1) % 9;
    const bool own = i == 2 || i == 3;
    const bool clean_before = i == kLength || i == kLength + 1;
    if (own || clean_before) {
      EXPECT_NE(network.Loss({changed}), loss) << i;
    } else {
      EXPECT_EQ(network.Loss({changed}), loss) << i;
    }
  }
}

// The loss is equal to that of a decoder: clean text before the block, then the noisy block,
// block-causal.
TEST(BlockDiffusionMaskTest, EqualsTheNoisyBlockBehindACleanPrefix) {
  Network network;
  constexpr size_t kLength = 6;
  for (size_t block = 0; block < kLength / 2; ++block) {
    TrainingSequence sequence = Sequence(2 * kLength, kNoisy, 14);
    const auto row = static_cast<uint32_t>(2 * block);
    sequence.predictions = {{.row = row, .target = 1, .weight = 1.0},
                            {.row = row + 1, .target = 2, .weight = 1.0}};
    TrainingSequence decoded = sequence;
    decoded.attention = kBlocks;
    decoded.tokens.assign(sequence.tokens.begin() + kLength,
                          sequence.tokens.begin() + kLength + row);
    decoded.tokens.insert(decoded.tokens.end(), sequence.tokens.begin() + row,
                          sequence.tokens.begin() + row + 2);
    EXPECT_NEAR(network.Loss({sequence}), network.Loss({decoded}), 1e-10) << block;
  }
}

}  // namespace
}  // namespace ruvd::inference::train
