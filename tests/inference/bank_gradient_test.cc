// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Trunk and bank residuals trained jointly: the whole backward pass in double against central
// differences, and which rows a bank acts on.

#include <gtest/gtest.h>

#include <optional>
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

TrainingSequence Sequence(size_t tokens, const Attention& attention, double t, uint64_t seed) {
  Random random(seed);
  TrainingSequence sequence{.tokens = {}, .attention = attention, .predictions = {}, .t = t};
  for (size_t i = 0; i < tokens; ++i) {
    sequence.tokens.push_back(static_cast<TokenId>(random.Below(9)));
  }
  for (size_t i = 0; i < tokens; i += 2) {
    sequence.predictions.push_back({.row = static_cast<uint32_t>(i),
                                    .target = static_cast<TokenId>(random.Below(9)),
                                    .weight = 0.2 + random.Uniform()});
  }
  return sequence;
}

// Every bank of the default schedule, two neighbours of one bank, and other attentions.
std::vector<TrainingSequence> Batch() {
  const Attention full{.kind = Attention::Kind::kBidirectional};
  return {Sequence(5, full, 0.1, 1), Sequence(4, full, 0.7, 2), Sequence(3, full, 0.9, 3),
          Sequence(6, {.kind = Attention::Kind::kNoisyAndClean, .block_length = 2}, 0.4, 4),
          Sequence(5, {.kind = Attention::Kind::kCausal}, 1.0, 5)};
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

void Add(ChangeKind kind, const Site& site, size_t rank, std::optional<size_t> bank,
         const NetworkShape& shape, Random& random, ChangeSet<double>* changes) {
  const Vector down = RandomVector(rank * shape.In(site.linear), random, 0.5);
  const Vector up = RandomVector(rank * shape.Out(site.linear), random, 0.5);
  const ChangePlacement placement{.bank = bank};
  if (kind == ChangeKind::kLora) {
    changes->AddLora(site, rank, 0.8, down, placement);
  } else if (kind == ChangeKind::kFfa) {
    changes->AddFfa(site, rank, 0.8, down, placement);
  } else {
    changes->AddCore(site, rank, 0.8, up, down, placement);
  }
}

struct Network {
  explicit Network(const BankSchedule& schedule, uint64_t memory = 1 << 20)
      : weights({}),
        changes(weights.shape(), schedule),
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
  // A trunk of rank 2 and residuals of rank 1 to 3 at every site, of kinds that take turns.
  void AddEverywhere(size_t first) {
    Random random(6);
    size_t kind = 0;
    for (const Site& site : AllSites(weights.shape(), first)) {
      Add(static_cast<ChangeKind>(kind++ % 3), site, 2, std::nullopt, weights.shape(), random,
          &changes);
      for (size_t bank = 0; bank < 3; ++bank) {
        Add(static_cast<ChangeKind>(kind++ % 3), site, bank + 1, bank, weights.shape(), random,
            &changes);
      }
    }
    changes.parameters() = RandomVector(changes.parameters().size(), random, 0.3);
  }

  DenseNetwork weights;
  ChangeSet<double> changes;
  NetworkPass<double> pass;
};

const BankSchedule kDiscrete;
const BankSchedule kLinear{.strategy = BankStrategy::kLinear};
const BankSchedule kSoft{.strategy = BankStrategy::kSoftBoundary, .temperature = 0.2F};

TEST(BankGradientTest, TrunkAndResidualsTogetherAgreeWithDifferences) {
  for (const BankSchedule& schedule : {kDiscrete, kLinear, kSoft}) {
    for (const size_t first : {size_t{0}, size_t{2}}) {
      Network network(schedule);
      network.AddEverywhere(first);
      const Vector gradient = network.Gradient(Batch());
      ExpectGradient(&network.changes.parameters(), gradient,
                     [&] { return network.Loss(Batch()); });
    }
  }
}

TEST(BankGradientTest, MemoryAndPlacesOfGradientsDecideNothing) {
  Network whole(kLinear);
  whole.AddEverywhere(0);
  const std::vector<TrainingSequence> batch = Batch();
  const Vector expected = whole.Gradient(batch);
  for (const uint64_t memory : {uint64_t{1} << 20, uint64_t{90'000}, uint64_t{1}}) {
    Network network(kLinear, memory);
    network.AddEverywhere(0);
    std::vector<Vector> each(batch.size(), Vector(expected.size()));
    std::vector<double*> places;
    for (Vector& gradient : each) {
      places.push_back(gradient.data());
    }
    network.pass.Run(batch, {.changes = &network.changes, .gradients = places});
    for (size_t j = 0; j < expected.size(); ++j) {
      double sum = 0;
      for (const Vector& gradient : each) {
        sum += gradient[j];
      }
      EXPECT_NEAR(sum, expected[j], 1e-12);
    }
  }
}

// A residual learns from the sequences of its bank alone. For these it acts as a change for all t
// does.
TEST(BankGradientTest, AResidualActsOnItsBankAlone) {
  const std::vector<TrainingSequence> batch = Batch();
  Network frozen(kDiscrete);
  for (size_t bank = 0; bank < 3; ++bank) {
    Network network(kDiscrete);
    Network always(kDiscrete);
    for (auto& [part, owner] :
         {std::pair{&network, std::optional(bank)}, std::pair{&always, std::optional<size_t>()}}) {
      Random random(7);
      for (const Site& site : AllSites(part->weights.shape(), 0)) {
        Add(ChangeKind::kLora, site, 2, owner, part->weights.shape(), random, &part->changes);
      }
      part->changes.parameters() = RandomVector(part->changes.parameters().size(), random, 0.3);
    }
    for (const TrainingSequence& sequence : batch) {
      const bool own = BankIndex(kDiscrete, static_cast<float>(sequence.t)) == bank;
      EXPECT_EQ(network.Loss({sequence}), (own ? always : frozen).Loss({sequence}));
      const Vector gradient = network.Gradient({sequence});
      const Vector expected = own ? always.Gradient({sequence}) : Vector(gradient.size());
      EXPECT_EQ(gradient, expected);
    }
  }
}

TEST(ChangeSetTest, KnowsItsChangesByBank) {
  Network network(kDiscrete);
  Random random(8);
  const Site query{1, Linear::kQuery};
  const Site key{0, Linear::kKey};
  EXPECT_FALSE(network.changes.first().has_value());
  Add(ChangeKind::kCore, query, 2, std::nullopt, network.weights.shape(), random, &network.changes);
  EXPECT_FALSE(network.changes.banked());
  Add(ChangeKind::kCore, query, 3, 2, network.weights.shape(), random, &network.changes);
  network.changes.AddLora(key, 1, 1.0, RandomVector(6, random),
                          {.bank = 1, .rate = 0.5, .decay = 0.1});
  EXPECT_TRUE(network.changes.banked());
  EXPECT_EQ(network.changes.first(), key);
  EXPECT_TRUE(network.changes.Has(query, 2));
  EXPECT_TRUE(network.changes.Has(query, std::nullopt));
  EXPECT_FALSE(network.changes.Has(query, 1));
  EXPECT_EQ(network.changes.At(query).size(), 2U);
  EXPECT_TRUE(network.changes.At({2, Linear::kQuery}).empty());
  EXPECT_EQ(network.changes.WeightAt(network.changes.entries()[1], 0.59), 0.0);
  EXPECT_EQ(network.changes.WeightAt(network.changes.entries()[1], 0.6), 1.0);
  // A of the LoRA does not decay.
  const std::vector<ParameterGroup> groups = network.changes.Groups();
  ASSERT_EQ(groups.size(), 6U);
  EXPECT_EQ(groups[4].count, 6U);
  EXPECT_EQ(groups[4].rate, 0.5);
  EXPECT_EQ(groups[4].decay, 0.0);
  EXPECT_EQ(groups[5].count, 8U);
  EXPECT_EQ(groups[5].decay, 0.1);
}

}  // namespace
}  // namespace ruvd::inference::train
