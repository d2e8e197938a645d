// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Single-thread rates of the matrix product and of whole forward passes. Counts are CPU time:
// "flops" is 2 multiply-adds a second. Floor to compare with: the machine's FMA peak.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "base/parallel.h"
#include "base/random.h"
#include "inference/gguf/quantize.h"
#include "inference/kernels/kernel_table.h"
#include "inference/model/attention.h"
#include "inference/model/linear.h"

namespace ruvd {
namespace {

std::vector<float> RandomFloats(size_t count) {
  Random random(1);
  std::vector<float> values(count);
  for (float& value : values) {
    value = static_cast<float>(random.Normal());
  }
  return values;
}

// Arguments: rows of x, outputs, columns, tensor type.
void Product(benchmark::State& state, bool transposed) {
  const auto rows = static_cast<size_t>(state.range(0));
  const int outputs = static_cast<int>(state.range(1));
  const int columns = static_cast<int>(state.range(2));
  const auto type = static_cast<TensorType>(state.range(3));
  const size_t weights = static_cast<size_t>(outputs) * static_cast<size_t>(columns);
  const std::string bytes = Quantize(type, RandomFloats(weights)).value();
  const Matrix w{.type = type,
                 .rows = outputs,
                 .columns = columns,
                 .data = reinterpret_cast<const uint8_t*>(bytes.data())};
  const std::vector<float> x =
      RandomFloats(rows * static_cast<size_t>(transposed ? outputs : columns));
  std::vector<float> y(rows * static_cast<size_t>(transposed ? columns : outputs));
  for (auto _ : state) {
    if (transposed) {
      MultiplyTransposed(SerialRunner(), x, w, y);
    } else {
      Multiply(SerialRunner(), x, w, y);
    }
    benchmark::DoNotOptimize(y.data());
  }
  state.SetLabel(std::string(TensorTypeName(type)) + " " + Kernels().target);
  state.counters["flops"] = benchmark::Counter(2.0 * static_cast<double>(rows * weights),
                                               benchmark::Counter::kIsIterationInvariantRate);
}

constexpr int64_t Id(TensorType type) {
  return static_cast<int64_t>(type);
}

void Shapes(benchmark::internal::Benchmark* bench) {
  for (const int64_t type :
       {Id(TensorType::kF32), Id(TensorType::kF16), Id(TensorType::kQ8_0), Id(TensorType::kQ4_0)}) {
    for (const int64_t rows : {1, 4, 16, 64, 512}) {
      bench->Args({rows, 1536, 512, type});
    }
    bench->Args({64, 512, 1536, type});
    bench->Args({64, 8192, 512, type});
  }
}

BENCHMARK_CAPTURE(Product, forward, false)->Apply(Shapes);
BENCHMARK_CAPTURE(Product, transposed, true)->Args({64, 8192, 512, Id(TensorType::kQ8_0)});

// One layer's attention of the 29M model: 8 heads of 64, 4 key-value heads.
void AttentionLayer(benchmark::State& state) {
  const auto tokens = static_cast<size_t>(state.range(0));
  const std::vector<float> q = RandomFloats(tokens * 512);
  const std::vector<float> kv = RandomFloats(tokens * 256);
  std::vector<float> context(tokens * 512);
  for (auto _ : state) {
    Attend(SerialRunner(), {.tokens = tokens,
                            .heads = 8,
                            .kv_heads = 4,
                            .head_size = 64,
                            .q = q.data(),
                            .keys = kv.data(),
                            .values = kv.data(),
                            .context = context.data()});
    benchmark::DoNotOptimize(context.data());
  }
  state.counters["flops"] = benchmark::Counter(4.0 * static_cast<double>(tokens * tokens * 512),
                                               benchmark::Counter::kIsIterationInvariantRate);
}

BENCHMARK(AttentionLayer)->Arg(64)->Arg(512);

}  // namespace
}  // namespace ruvd
