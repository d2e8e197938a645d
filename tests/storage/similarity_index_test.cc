// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Compares the vector index of rows named by text with comparing rows one by one.

#include "storage/similarity/similarity_index.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <limits>
#include <map>
#include <thread>

#include "base/random.h"
#include "base/reasons.h"
#include "base/status.h"
#include "storage/similarity/cosine.h"

namespace ruvd::storage {
namespace {

using Vector = std::vector<float>;

TEST(SimilarityIndexTest, AgreesWithComparingOneByOne) {
  constexpr uint32_t kDimension = 8;
  const auto index = SimilarityIndex::Create(kDimension).value();
  Random random(1);
  const auto draw = [&random] {
    Vector vector(kDimension);
    for (float& value : vector) {
      value = static_cast<float>(random.Normal());
    }
    return vector;
  };
  std::map<std::string, Vector> model;
  for (int step = 0; step < 3000; ++step) {
    const std::string id = fmt::format("{}", random.Below(60));
    if (random.Bernoulli(0.7)) {
      model[id] = draw();  // mostly replaces: far more rows are removed than live
      ASSERT_TRUE(index->Put(id, model[id]).ok());
    } else {
      index->Remove(id);
      model.erase(id);
    }
    ASSERT_EQ(index->size(), model.size());
    if (step % 50 == 0 && !model.empty()) {
      const Vector query = draw();
      const auto hits = index->Search(query, model.size());
      ASSERT_TRUE(hits.ok()) << hits.status();
      ASSERT_EQ(hits->size(), model.size());
      float last = 1;
      for (const SimilarityHit& hit : *hits) {
        EXPECT_NEAR(hit.similarity, *CosineSimilarity(query, model.at(hit.id)), 5e-3);
        EXPECT_LE(hit.similarity, last + 1e-6F);
        last = hit.similarity;
      }
    }
  }
}

// Found by review: every change leaked four bytes.
TEST(SimilarityIndexTest, ReplacingOneRowManyTimesCostsNoMemory) {
  const auto index = SimilarityIndex::Create(2).value();
  for (int i = 1; i <= 20'000; ++i) {
    ASSERT_TRUE(index->Put("a", Vector{1, static_cast<float>(i)}).ok());
  }
  EXPECT_EQ(index->Counts().live, 1U);
  EXPECT_LT(index->Counts().tail_places, 2000U);
}

// Rows beyond the tail are linked, a few with every change, and are found all the same.
TEST(SimilarityIndexTest, LinksWhatTheTailDoesNotHold) {
  constexpr uint32_t kDimension = 8;
  const auto index = SimilarityIndex::Create(kDimension, {.max_tail = 50}).value();
  Random random(2);
  std::map<std::string, Vector> model;
  for (int step = 0; step < 2000; ++step) {
    const std::string id = fmt::format("{}", random.Below(400));
    if (random.Bernoulli(0.2)) {
      index->Remove(id);
      model.erase(id);
      continue;
    }
    Vector& vector = model[id] = Vector(kDimension);
    for (float& value : vector) {
      value = static_cast<float>(random.Normal());
    }
    ASSERT_TRUE(index->Put(id, vector).ok());
  }
  EXPECT_LE(index->Counts().pending, 51U);
  for (const auto& [id, vector] : model) {
    const auto hits = index->Search(vector, 1);
    ASSERT_TRUE(hits.ok()) << hits.status();
    ASSERT_EQ(hits->size(), 1U);
    EXPECT_EQ(hits->front().id, id);
  }
}

// Found by review: a session that continued was missing from searches during its updates.
TEST(SimilarityIndexTest, ARowIsFoundWhileItIsReplaced) {
  constexpr uint32_t kSize = 16;
  const auto index = SimilarityIndex::Create(kSize).value();
  std::vector<Vector> rows;
  Random random(9);
  for (int i = 0; i < 200; ++i) {
    Vector& row = rows.emplace_back(kSize);
    for (float& value : row) {
      value = static_cast<float>(random.Normal());
    }
  }
  for (uint32_t i = 0; i < rows.size(); ++i) {
    ASSERT_TRUE(index->Put(std::to_string(i), rows[i]).ok());
  }
  std::atomic<int> searches = 0;
  std::atomic<bool> stop = false;
  // The writer replaces the row once during each search: a search that meets newer rows again and
  // again answers with what it has.
  std::thread writer([&] {
    for (int seen = 0; !stop; seen = searches) {
      EXPECT_TRUE(index->Put("7", rows[7]).ok());
      while (searches == seen && !stop) {
        std::this_thread::yield();
      }
    }
  });
  size_t missed = 0;
  for (int i = 0; i < 3000; ++i) {
    const auto hits = index->Search(rows[7], 1);
    missed += hits.ok() && hits->size() == 1 && hits->front().id == "7" ? 0 : 1;
    ++searches;
  }
  stop = true;
  writer.join();
  EXPECT_EQ(missed, 0U);
}

TEST(SimilarityIndexTest, RefusesVectorsWithoutDirection) {
  const auto index = SimilarityIndex::Create(2).value();
  EXPECT_EQ(ReasonOf(index->Put("a", Vector{1})), reasons::kWrongDimension);
  EXPECT_EQ(ReasonOf(index->Put("a", Vector{0, 0})), reasons::kInvalidArgument);
  EXPECT_EQ(ReasonOf(index->Check(Vector{NAN, 0})), reasons::kInvalidArgument);
  EXPECT_EQ(index->size(), 0U);
  EXPECT_TRUE(index->Search(Vector{1, 0}, 3)->empty());
  EXPECT_FALSE(SimilarityIndex::Create(0).ok());
}

TEST(CosineTest, IsExactAndHasNoValueWithoutADirection) {
  EXPECT_EQ(CosineSimilarity(Vector{3, 4}, Vector{6, 8}), 1.0F);
  EXPECT_EQ(CosineSimilarity(Vector{1, 0}, Vector{0, 5}), 0.0F);
  EXPECT_EQ(CosineSimilarity(Vector{1, 0}, Vector{-2, 0}), -1.0F);
  EXPECT_EQ(CosineSimilarity(Vector{0, 0}, Vector{1, 0}), std::nullopt);
  const float huge = std::numeric_limits<float>::max();
  EXPECT_EQ(CosineSimilarity(Vector{huge, 0}, Vector{huge, 0}), 1.0F);
  EXPECT_EQ(CosineSimilarity(Vector{NAN, 0}, Vector{1, 0}), std::nullopt);
}

}  // namespace
}  // namespace ruvd::storage
