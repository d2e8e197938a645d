// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Measures single-thread rates of the matrix product and of whole forward passes. Rates are by CPU
// time; "flops" counts a multiply-add as two operations. They compare with the machine's FMA peak.
#include <benchmark/benchmark.h>

#include <span>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "base/random.h"
#include "inference/gguf/quantize.h"
#include "inference/kernels/kernel_table.h"
#include "inference/model/linear.h"
#include "inference/transformer/attention.h"

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

// The arguments are rows of x, outputs, columns and tensor type.
void Product(benchmark::State& state, bool transposed) {
  const auto rows = static_cast<size_t>(state.range(0));
  const int outputs = static_cast<int>(state.range(1));
  const int columns = static_cast<int>(state.range(2));
  const auto type = static_cast<inference::TensorType>(state.range(3));
  const size_t weights = static_cast<size_t>(outputs) * static_cast<size_t>(columns);
  const std::string bytes = Quantize(type, RandomFloats(weights)).value();
  const inference::Matrix w{.type = type,
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
  state.SetLabel(std::string(inference::TensorTypeName(type)) + " " + inference::Kernels().target);
  state.counters["flops"] = benchmark::Counter(2.0 * static_cast<double>(rows * weights),
                                               benchmark::Counter::kIsIterationInvariantRate);
}

constexpr int64_t Id(inference::TensorType type) {
  return static_cast<int64_t>(type);
}

void Shapes(benchmark::internal::Benchmark* bench) {
  for (const int64_t type : {Id(inference::TensorType::kF32), Id(inference::TensorType::kF16),
                             Id(inference::TensorType::kQ8_0), Id(inference::TensorType::kQ4_0)}) {
    for (const int64_t rows : {1, 4, 16, 64, 512}) {
      bench->Args({rows, 1536, 512, type});
    }
    bench->Args({64, 512, 1536, type});
    bench->Args({64, 8192, 512, type});
  }
}

BENCHMARK_CAPTURE(Product, forward, false)->Apply(Shapes);
BENCHMARK_CAPTURE(Product, transposed, true)
    ->Args({64, 8192, 512, Id(inference::TensorType::kQ8_0)});

// The integer path: products with repacked weights, with activations rounded beforehand. The
// arguments are rows of x, outputs, columns and tensor type. "bytes_per_second" counts the weights:
// for one row it is what the memory delivers.
void PackedProductRate(benchmark::State& state) {
  const auto rows = static_cast<size_t>(state.range(0));
  const auto type = static_cast<inference::TensorType>(state.range(3));
  inference::Matrix w{.type = type,
                      .rows = static_cast<int>(state.range(1)),
                      .columns = static_cast<int>(state.range(2))};
  const auto outputs = static_cast<size_t>(w.rows);
  const auto columns = static_cast<size_t>(w.columns);
  // Bytes below 64 make small positive scales in every format.
  std::vector<uint8_t> bytes(inference::RowBytes(w) * outputs);
  Random random(2);
  for (uint8_t& byte : bytes) {
    byte = static_cast<uint8_t>(random.Next() & 63U);
  }
  w.data = bytes.data();
  const inference::PackedMatrix packed = inference::PackedMatrix::Pack(SerialRunner(), w);
  inference::QuantizedRows x;
  Quantize(SerialRunner(), RandomFloats(rows * columns), columns, &x);
  std::vector<float> y(rows * outputs);
  const inference::PackedTask task{.w = &packed, .y = y.data(), .y_stride = outputs};
  for (auto _ : state) {
    Multiply(SerialRunner(), x, {&task, 1});
    benchmark::DoNotOptimize(y.data());
  }
  state.SetLabel(std::string(inference::TensorTypeName(type)) + " " + inference::Kernels().name);
  state.SetBytesProcessed(static_cast<int64_t>(packed.bytes()) * state.iterations());
  state.counters["flops"] = benchmark::Counter(2.0 * static_cast<double>(rows * outputs * columns),
                                               benchmark::Counter::kIsIterationInvariantRate);
}

void PackedShapes(benchmark::internal::Benchmark* bench) {
  for (const inference::TensorType type :
       {inference::TensorType::kQ4_0, inference::TensorType::kQ8_0, inference::TensorType::kQ4_K,
        inference::TensorType::kQ6_K, inference::TensorType::kQ4_1, inference::TensorType::kQ5_0,
        inference::TensorType::kQ5_1, inference::TensorType::kQ5_K}) {
    const bool super = inference::BlockValues(type) == 256;
    const int64_t narrow = super ? 1024 : 896;
    const int64_t wide = super ? 4096 : 4864;
    for (const int64_t rows : {1, 2, 8, 32, 128, 512}) {
      bench->Args({rows, narrow, narrow, Id(type)});
      bench->Args({rows, wide, narrow, Id(type)});
      bench->Args({rows, narrow, wide, Id(type)});
      bench->Args({rows, 151936, narrow, Id(type)});
    }
  }
}

BENCHMARK(PackedProductRate)->Apply(PackedShapes);

// Measures the rounding of activations. The arguments are rows and columns.
void QuantizeRate(benchmark::State& state) {
  const auto rows = static_cast<size_t>(state.range(0));
  const auto columns = static_cast<size_t>(state.range(1));
  const std::vector<float> x = RandomFloats(rows * columns);
  inference::QuantizedRows out;
  for (auto _ : state) {
    Quantize(SerialRunner(), x, columns, &out);
    benchmark::DoNotOptimize(out.view().codes);
  }
  state.SetBytesProcessed(static_cast<int64_t>(x.size() * sizeof(float)) * state.iterations());
}

BENCHMARK(QuantizeRate)->Args({1, 896})->Args({128, 896})->Args({128, 4864});

// A loop of empty ranges: what a parallel region costs beside its work. The argument is the number
// of threads.
void EmptyLoop(benchmark::State& state) {
  ThreadParallelRunner runner(static_cast<int>(state.range(0)));
  for (auto _ : state) {
    runner.For(8, 1, [](size_t begin, size_t) { benchmark::DoNotOptimize(begin); });
  }
}

BENCHMARK(EmptyLoop)->Arg(1)->Arg(2)->UseRealTime();

// Products of one layer of a 0.5B model in seven regions, in real time. The arguments are threads
// and rows.
void LayerOnThreads(benchmark::State& state) {
  ThreadParallelRunner runner(static_cast<int>(state.range(0)));
  const auto rows = static_cast<size_t>(state.range(1));
  constexpr int kShapes[][2] = {{896, 896},  {128, 896},  {128, 896}, {896, 896},
                                {4864, 896}, {4864, 896}, {896, 4864}};
  const std::vector<uint8_t> bytes(size_t{4864} * 896, 0x21);
  std::vector<inference::PackedMatrix> layer;
  for (const auto& [outputs, columns] : kShapes) {
    layer.push_back(
        inference::PackedMatrix::Pack(SerialRunner(), {.type = inference::TensorType::kQ4_0,
                                                       .rows = outputs,
                                                       .columns = columns,
                                                       .data = bytes.data()}));
  }
  const std::vector<float> x = RandomFloats(rows * 4864);
  std::vector<float> y(rows * 4864);
  inference::QuantizedRows quantized;
  double products = 0;
  for (auto _ : state) {
    for (const inference::PackedMatrix& w : layer) {
      Quantize(runner, std::span(x).first(rows * w.columns()), w.columns(), &quantized);
      const inference::PackedTask task{.w = &w, .y = y.data(), .y_stride = w.outputs()};
      Multiply(runner, quantized, {&task, 1});
      products += static_cast<double>(rows * w.outputs() * w.columns());
    }
  }
  state.counters["flops"] = benchmark::Counter(2.0 * products, benchmark::Counter::kIsRate);
}

BENCHMARK(LayerOnThreads)->ArgsProduct({{1, 2}, {1, 32, 128}})->UseRealTime();

// One layer's attention of the 29M model: 8 heads of 64, 4 key-value heads.
void AttentionLayer(benchmark::State& state) {
  const auto tokens = static_cast<size_t>(state.range(0));
  const std::vector<float> q = RandomFloats(tokens * 512);
  const std::vector<float> kv = RandomFloats(tokens * 256);
  std::vector<float> context(tokens * 512);
  for (auto _ : state) {
    const inference::AttentionInput input{.tokens = tokens,
                                          .heads = 8,
                                          .kv_heads = 4,
                                          .head_size = 64,
                                          .q = q.data(),
                                          .keys = kv.data(),
                                          .values = kv.data(),
                                          .context = context.data()};
    Attend(SerialRunner(), std::span(&input, 1));
    benchmark::DoNotOptimize(context.data());
  }
  state.counters["flops"] = benchmark::Counter(4.0 * static_cast<double>(tokens * tokens * 512),
                                               benchmark::Counter::kIsIterationInvariantRate);
}

// One new token of the 0.5B shape (14 heads of 64, 2 key-value heads) over a cached prefix, layer
// by layer, so that the pages come from memory as in decoding.
void AttentionDecode(benchmark::State& state, inference::KvFormat format) {
  const int prefix = static_cast<int>(state.range(0));
  constexpr int kLayers = 24;
  const inference::ModelConfig shape{
      .layers = kLayers, .heads = 14, .kv_heads = 2, .head_size = 64};
  inference::KvCache cache(inference::KvPool::Create(shape, format, 1U << 30).value(), prefix);
  const std::vector<float> rows = RandomFloats(static_cast<size_t>(prefix) * 128);
  if (!cache.Reserve(0, prefix).ok()) {
    return state.SkipWithError("no pages");
  }
  for (size_t layer = 0; layer < kLayers; ++layer) {
    cache.Write(layer, 0, prefix, rows.data(), rows.data());
  }
  cache.Commit(prefix);
  std::vector<float> context(14 * 64);
  for (auto _ : state) {
    for (size_t layer = 0; layer < kLayers; ++layer) {
      const inference::AttentionInput input{
          .attention = {.kind = inference::Attention::Kind::kCausal},
          .prefix = static_cast<size_t>(prefix),
          .tokens = 1,
          .cache = &cache,
          .layer = layer,
          .heads = 14,
          .kv_heads = 2,
          .head_size = 64,
          .q = rows.data(),
          .keys = rows.data(),
          .values = rows.data(),
          .context = context.data()};
      Attend(SerialRunner(), std::span(&input, 1));
      benchmark::DoNotOptimize(context.data());
    }
  }
  state.counters["bytes"] =
      benchmark::Counter(static_cast<double>(cache.pages().size() * cache.layout().page_bytes()),
                         benchmark::Counter::kIsIterationInvariantRate);
}

BENCHMARK_CAPTURE(AttentionDecode, f32, inference::KvFormat::kF32)->Arg(64)->Arg(2048);
BENCHMARK_CAPTURE(AttentionDecode, f16, inference::KvFormat::kF16)->Arg(64)->Arg(2048);
BENCHMARK_CAPTURE(AttentionDecode, q8, inference::KvFormat::kQ8)->Arg(64)->Arg(2048);
BENCHMARK(AttentionLayer)->Arg(64)->Arg(512);

}  // namespace
}  // namespace ruvd
