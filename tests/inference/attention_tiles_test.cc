// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/parallel.h"
#include "base/random.h"
#include "inference/transformer/attention.h"
#include "tests/inference/kv_tokens.h"

namespace ruvd::inference {
namespace {

using test::AppendRows;
using test::KvShape;
using test::NormalFloats;
using test::StoredToken;

using Kind = Attention::Kind;

// Owns what one call of Attend is given.
struct Case {
  Attention attention;
  size_t heads, kv_heads, head_size, prefix, tokens, suffix;
  std::unique_ptr<KvCache> cache;
  std::unique_ptr<KvCache> rounded;  // the new keys and values as the cache would store them
  std::optional<std::vector<size_t>> rows = std::nullopt;
  std::vector<float> q, keys, values, context;

  AttentionInput Input() {
    AttentionInput input{.attention = attention,
                         .prefix = prefix,
                         .tokens = tokens,
                         .suffix = suffix,
                         .cache = cache.get(),
                         .layer = cache == nullptr ? 0 : cache->layout().layers() - 1,
                         .heads = heads,
                         .kv_heads = kv_heads,
                         .head_size = head_size,
                         .q = q.data(),
                         .keys = keys.data(),
                         .values = values.data()};
    if (rows.has_value()) {
      input.rows = *rows;
    }
    context.assign(input.queries() * heads * head_size, -1.0F);
    input.context = context.data();
    return input;
  }
};

Case MakeCase(Random& random, Attention attention, KvFormat format, size_t prefix, size_t tokens,
              size_t suffix) {
  Case c{.attention = attention,
         .heads = 0,
         .kv_heads = 1 + random.Below(3),
         .head_size = 2 * (1 + random.Below(40)),
         .prefix = prefix,
         .tokens = tokens,
         .suffix = suffix};
  c.heads = c.kv_heads * (1 + random.Below(7));
  const size_t width = c.kv_heads * c.head_size;
  c.q = NormalFloats(random, tokens * c.heads * c.head_size);
  c.keys = NormalFloats(random, tokens * width);
  c.values = NormalFloats(random, tokens * width);
  const int held = static_cast<int>(suffix > 0 ? prefix + tokens + suffix : prefix);
  if (held > 0) {
    const ModelConfig shape = KvShape(2, static_cast<int>(c.heads), static_cast<int>(c.kv_heads),
                                      static_cast<int>(c.head_size));
    c.cache = std::make_unique<KvCache>(KvPool::Create(shape, format, 64U << 20).value(), held);
    const std::vector<float> old = NormalFloats(random, static_cast<size_t>(held) * width * 2);
    EXPECT_TRUE(
        AppendRows(c.cache.get(), held, old.data(), old.data() + static_cast<size_t>(held) * width)
            .ok());
    c.rounded = std::make_unique<KvCache>(KvPool::Create(shape, format, 64U << 20).value(),
                                          static_cast<int>(tokens));
    EXPECT_TRUE(
        AppendRows(c.rounded.get(), static_cast<int>(tokens), c.keys.data(), c.values.data()).ok());
  }
  return c;
}

// By the definition of each kind: whether the token at `row` sees key `key`.
bool Sees(const Case& c, size_t row, size_t key) {
  const size_t position = c.prefix + row;
  const auto block = static_cast<size_t>(c.attention.block_length);
  const size_t half = c.tokens / 2;
  switch (c.attention.kind) {
    case Kind::kBidirectional:
      return true;
    case Kind::kCausal:
      return key <= position &&
             (c.attention.window == 0 || position - key < static_cast<size_t>(c.attention.window));
    case Kind::kBlockCausal:
      return key / block <= position / block;
    case Kind::kNoisyAndClean:
      break;
  }
  if (row < half) {
    return key < half ? key / block == row / block : (key - half) / block < row / block;
  }
  return key >= half && (key - half) / block <= (row - half) / block;
}

// One row of one head by the formula, in double.
std::vector<double> PlainRow(const Case& c, size_t row, size_t query, size_t head) {
  const size_t kv_head = head / (c.heads / c.kv_heads);
  std::vector<double> sum(c.head_size);
  std::vector<double> scores;
  std::vector<std::vector<double>> values;
  for (size_t k = 0; k < c.prefix + c.tokens + c.suffix; ++k) {
    if (!Sees(c, row, k)) {
      continue;
    }
    std::vector<double> key;
    std::vector<double> value;
    const bool is_new = k >= c.prefix && k < c.prefix + c.tokens;
    if (is_new && c.rounded != nullptr) {
      std::tie(key, value) = StoredToken(*c.rounded, 0, kv_head, k - c.prefix);
    } else if (is_new) {
      const size_t at = ((k - c.prefix) * c.kv_heads + kv_head) * c.head_size;
      key.assign(c.keys.begin() + static_cast<ptrdiff_t>(at),
                 c.keys.begin() + static_cast<ptrdiff_t>(at + c.head_size));
      value.assign(c.values.begin() + static_cast<ptrdiff_t>(at),
                   c.values.begin() + static_cast<ptrdiff_t>(at + c.head_size));
    } else {
      std::tie(key, value) = StoredToken(*c.cache, c.cache->layout().layers() - 1, kv_head, k);
    }
    const float* q = c.q.data() + (query * c.heads + head) * c.head_size;
    scores.push_back(std::inner_product(key.begin(), key.end(), q, 0.0) /
                     std::sqrt(static_cast<double>(c.head_size)));
    values.push_back(value);
  }
  const double largest = *std::max_element(scores.begin(), scores.end());
  double total = 0;
  for (size_t k = 0; k < scores.size(); ++k) {
    const double weight = std::exp(scores[k] - largest);
    total += weight;
    for (size_t i = 0; i < c.head_size; ++i) {
      sum[i] += weight * values[k][i];
    }
  }
  for (double& value : sum) {
    value /= total;
  }
  return sum;
}

void ExpectPlain(Case& c) {
  const AttentionInput input = c.Input();
  Attend(SerialRunner(), std::span(&input, 1));
  double worst = 0;
  for (size_t query = 0; query < input.queries(); ++query) {
    for (size_t head = 0; head < c.heads; ++head) {
      const std::vector<double> plain = PlainRow(c, input.RowOf(query), query, head);
      for (size_t i = 0; i < c.head_size; ++i) {
        const auto value =
            static_cast<double>(c.context[(query * c.heads + head) * c.head_size + i]);
        worst = std::max(worst, std::abs(value - plain[i]));
      }
    }
  }
  EXPECT_LT(worst, 3e-6);
}

class AttentionTilesTest : public ::testing::TestWithParam<KvFormat> {};

TEST_P(AttentionTilesTest, EqualsThePlainFormula) {
  Random random(1);
  for (int i = 0; i < 24; ++i) {
    const size_t tokens = 1 + random.Below(90);
    const size_t prefix = random.Below(150);
    const int block = 1 + static_cast<int>(random.Below(40));
    const Attention kinds[] = {{.kind = Kind::kBidirectional},
                               {.kind = Kind::kCausal},
                               {.kind = Kind::kCausal, .window = block},
                               {.kind = Kind::kBlockCausal, .block_length = block}};
    for (const Attention& attention : kinds) {
      const size_t suffix =
          attention.kind == Kind::kBidirectional && i % 2 == 0 ? random.Below(60) : 0;
      SCOPED_TRACE(fmt::format("kind {} window {} block {} prefix {} tokens {} suffix {}",
                               static_cast<int>(attention.kind), attention.window, block, prefix,
                               tokens, suffix));
      Case c = MakeCase(random, attention, GetParam(), prefix, tokens, suffix);
      ExpectPlain(c);
    }
  }
}

TEST_P(AttentionTilesTest, OneQueryReadsPagesDirectly) {
  Random random(2);
  for (const size_t prefix : {1, 15, 16, 63, 64, 65, 200}) {
    Case c = MakeCase(random, {.kind = Kind::kCausal}, GetParam(), prefix, 1, 0);
    ExpectPlain(c);
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, AttentionTilesTest,
                         ::testing::Values(KvFormat::kF32, KvFormat::kF16, KvFormat::kQ8),
                         [](const auto& test) { return std::string(KvFormatName(test.param)); });

TEST(AttentionTest, NoisyAndCleanEqualsThePlainFormula) {
  Random random(3);
  for (int i = 0; i < 12; ++i) {
    const int block = 1 + static_cast<int>(random.Below(20));
    Case c = MakeCase(random, {.kind = Kind::kNoisyAndClean, .block_length = block}, KvFormat::kF32,
                      0, 2 * (1 + random.Below(70)), 0);
    ExpectPlain(c);
  }
}

// Found by review: a value that a row may not see must not change the row, even if it is NaN.
TEST_P(AttentionTilesTest, AHiddenValueThatIsNotFiniteChangesNothing) {
  Random random(11);
  for (const size_t prefix : {size_t{0}, size_t{7}}) {
    Case c = MakeCase(random, {.kind = Kind::kCausal}, GetParam(), prefix, 20, 0);
    AttentionInput input = c.Input();
    Attend(SerialRunner(), std::span(&input, 1));
    const std::vector<float> before = c.context;
    const size_t width = c.kv_heads * c.head_size;
    for (size_t i = 19 * width; i < 20 * width; ++i) {
      c.keys[i] = c.values[i] = std::numeric_limits<float>::quiet_NaN();
    }
    input = c.Input();
    Attend(SerialRunner(), std::span(&input, 1));
    const size_t rows = 19 * c.heads * c.head_size;
    EXPECT_TRUE(std::equal(before.begin(), before.begin() + static_cast<ptrdiff_t>(rows),
                           c.context.begin()));
  }
}

TEST(AttentionTest, LargeScoresDoNotOverflow) {
  Random random(4);
  Case c = MakeCase(random, {.kind = Kind::kCausal}, KvFormat::kF32, 0, 40, 0);
  for (float& value : c.q) {
    value *= 1000.0F;
  }
  const AttentionInput input = c.Input();
  Attend(SerialRunner(), std::span(&input, 1));
  EXPECT_TRUE(std::all_of(c.context.begin(), c.context.end(),
                          [](float value) { return std::isfinite(value) && value > -10; }));
}

TEST_P(AttentionTilesTest, CachedTokensEqualNewOnesBitForBit) {
  Random random(5);
  for (int i = 0; i < 20; ++i) {
    const size_t tokens = 2 + random.Below(160);
    const size_t prefix = 1 + random.Below(tokens - 1);
    const int window = i % 2 == 0 ? 0 : 1 + static_cast<int>(random.Below(100));
    Case whole =
        MakeCase(random, {.kind = Kind::kCausal, .window = window}, GetParam(), 0, tokens, 0);
    const ModelConfig shape =
        KvShape(1, static_cast<int>(whole.heads), static_cast<int>(whole.kv_heads),
                static_cast<int>(whole.head_size));
    const auto pool = KvPool::Create(shape, GetParam(), 64U << 20).value();
    KvCache empty(pool, 0);
    AttentionInput input = whole.Input();
    input.cache = &empty;
    Attend(SerialRunner(), std::span(&input, 1));
    KvCache cache(pool, static_cast<int>(tokens));
    ASSERT_TRUE(
        AppendRows(&cache, static_cast<int>(prefix), whole.keys.data(), whole.values.data()).ok());
    const size_t kv_width = whole.kv_heads * whole.head_size;
    const size_t q_width = whole.heads * whole.head_size;
    std::vector<float> context((tokens - prefix) * q_width);
    AttentionInput rest = input;
    rest.prefix = prefix;
    rest.tokens = tokens - prefix;
    rest.cache = &cache;
    rest.q += prefix * q_width;
    rest.keys += prefix * kv_width;
    rest.values += prefix * kv_width;
    rest.context = context.data();
    Attend(SerialRunner(), std::span(&rest, 1));
    EXPECT_TRUE(std::equal(context.begin(), context.end(),
                           whole.context.begin() + static_cast<ptrdiff_t>(prefix * q_width)));
  }
}

// The other rows, the other sequences and the threads change nothing.
TEST(AttentionTest, RowsBatchesAndThreadsDoNotChangeAnything) {
  Random random(6);
  ThreadParallelRunner threads(3);
  for (int round = 0; round < 6; ++round) {
    std::vector<Case> cases;
    for (const KvFormat format : {KvFormat::kF32, KvFormat::kF16, KvFormat::kQ8}) {
      cases.push_back(MakeCase(random, {.kind = Kind::kBlockCausal, .block_length = 24}, format,
                               random.Below(100), 1 + random.Below(100), 0));
    }
    for (Case& c : cases) {
      const AttentionInput input = c.Input();
      Attend(SerialRunner(), std::span(&input, 1));
      const std::vector<float> alone = c.context;
      // Attends to all rows and two copies with some of them, at once, on several threads.
      std::vector<size_t> rows;
      for (size_t row = 0; row < c.tokens; ++row) {
        if (random.Below(2) == 0) {
          rows.push_back(row);
        }
      }
      const size_t width = c.heads * c.head_size;
      std::vector<float> queries;
      for (const size_t row : rows) {
        const float* from = c.q.data() + row * width;
        queries.insert(queries.end(), from, from + width);
      }
      std::vector<float> some(rows.size() * width);
      std::vector<float> same(some.size());
      std::vector<float> all(alone.size());
      AttentionInput part = input;
      part.rows = rows;
      part.q = queries.data();
      part.context = some.data();
      AttentionInput part_again = part;
      part_again.context = same.data();
      AttentionInput whole = input;
      whole.context = all.data();
      Attend(threads, std::vector<AttentionInput>{part, whole, part_again});
      EXPECT_EQ(all, alone);
      EXPECT_EQ(same, some);
      for (size_t i = 0; i < rows.size(); ++i) {
        EXPECT_TRUE(std::equal(some.begin() + static_cast<ptrdiff_t>(i * width),
                               some.begin() + static_cast<ptrdiff_t>((i + 1) * width),
                               alone.begin() + static_cast<ptrdiff_t>(rows[i] * width)));
      }
    }
  }
}

}  // namespace
}  // namespace ruvd::inference
