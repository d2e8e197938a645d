// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "inference/gguf/types.h"
#include "inference/kernels/attention_step.h"
#include "inference/kernels/packed.h"
#include "inference/kernels/rounded.h"

namespace ruvd::inference {

// Computes y (rows x outputs) = a (rows x columns) times the transpose of b (outputs x columns),
// which is in a file format. Strides are distances between rows: in floats for a and y, in bytes
// for b.
struct ProductAbt {
  const float* a = nullptr;
  size_t a_stride = 0;
  size_t rows = 0;
  const uint8_t* b = nullptr;
  size_t b_stride = 0;
  TensorType b_type = TensorType::kF32;  // a format that `decodes` accepts
  size_t outputs = 0;
  size_t columns = 0;
  float* y = nullptr;
  size_t y_stride = 0;
  // Scratch memory for decoded rows of b, `panel_floats` long. Unused if b is F32 or `rows` is
  // small.
  float* panel = nullptr;
  size_t panel_floats = 0;  // at least `columns`
};

// Computes y (rows x columns) = a (rows x inner) times b (inner x columns), all float32. With
// `accumulate` the product is added to y. Strides are in floats.
struct ProductAb {
  const float* a = nullptr;
  size_t a_stride = 0;
  size_t rows = 0;
  size_t inner = 0;
  const float* b = nullptr;
  size_t b_stride = 0;
  size_t columns = 0;
  float* y = nullptr;
  size_t y_stride = 0;
  bool accumulate = false;
};

struct TopTwo {
  float first = -std::numeric_limits<float>::infinity();
  float second = -std::numeric_limits<float>::infinity();
  size_t place = 0;  // index of the first
};

struct ExpSums {
  double mass = 0;
  double energy = 0;
};

struct ScoreSums {
  float largest = 0;
  float mass = 0;    // sum of exp(score - shift)
  size_t found = 0;  // scores that are large enough
};

// The inner loops of inference for one instruction set. All are pure functions of their arguments,
// reentrant, and need no alignment. The division of rows or outputs among calls affects a result
// only at the borders that the caller chooses, so callers use fixed borders.
struct KernelTable {
  const char* name = "";    // of the whole table, e.g. "avx512-vnni"
  const char* target = "";  // the instruction set of the float kernels, e.g. "AVX3"

  // Returns whether the kernels decode this format themselves.
  bool (*decodes)(TensorType type) = nullptr;
  // Decodes `count` values from the start of `bytes`; they must be whole blocks. The result equals
  // Dequantize bit for bit.
  void (*decode)(TensorType type, const uint8_t* bytes, size_t count, float* out) = nullptr;

  // In a product, sums run over vector lanes in a fixed order that depends only on `columns`.
  void (*multiply_abt)(const ProductAbt& product) = nullptr;
  // In this product, sums run over `inner` in ascending order.
  void (*multiply_ab)(const ProductAb& product) = nullptr;

  // Computes y = x / sqrt(mean(x^2) + epsilon) * weight (RMSNorm, arXiv 1910.07467).
  void (*rms_norm)(const float* x, const float* weight, float epsilon, size_t n,
                   float* y) = nullptr;
  // Rotates the pairs (x[i], x[i + half]) by the angle whose cosine and sine are given (RoPE in
  // the half-split or NEOX layout, arXiv 2104.09864).
  void (*rotate)(float* x, const float* cosine, const float* sine, size_t half) = nullptr;
  // Does the same as `rotate` for the pairs (x[2i], x[2i + 1]).
  void (*rotate_adjacent)(float* x, const float* cosine, const float* sine, size_t pairs) = nullptr;
  // Computes out = gate * sigmoid(gate) * up (SwiGLU, arXiv 2002.05202).
  void (*swiglu)(const float* gate, const float* up, size_t n, float* out) = nullptr;
  // Derivative of RMSNorm, for training: dx += dL/dx, given dy = dL/dy.
  void (*rms_norm_backward)(const float* x, const float* weight, float epsilon, const float* dy,
                            size_t n, float* dx) = nullptr;
  // Derivative of SwiGLU, for training: replaces gate and up by dL/dgate and dL/dup, given dy.
  void (*swiglu_backward)(const float* dy, size_t n, float* gate, float* up) = nullptr;
  // Computes x = exp(scale * x - shift) and returns the sum. The exponents must not be much larger
  // than zero.
  float (*exp_affine)(float* x, size_t n, float scale, float shift) = nullptr;
  // Computes y += x.
  void (*add)(const float* x, size_t n, float* y) = nullptr;
  // Returns the largest of n > 0 values.
  float (*max)(const float* x, size_t n) = nullptr;
  // Returns the sum of exp(x - shift); shift must be at least the largest x.
  float (*sum_exp)(const float* x, size_t n, float shift) = nullptr;

  // Adds keys and values to the running sums of queries.
  void (*attend)(const AttentionStep& step) = nullptr;
  // Converts n values to a cached format, tightly packed, rounding to nearest. Returns the scale by
  // which kQ8 values must be multiplied, and one for the other formats. Values outside the range of
  // kF16 become its largest number.
  float (*narrow)(KvFormat format, const float* x, size_t n, void* out) = nullptr;
  // Converts stored values to float32 without their scale; n is a multiple of 16.
  void (*widen)(KvFormat format, const void* from, size_t n, float* out) = nullptr;
  // Integer products (packed.h): sums run over blocks in ascending order. This kernel and the next
  // one give the same bits in every table.
  void (*multiply_packed)(const PackedProduct& product) = nullptr;
  // Quantises `count` rows of the group that begins at `first_row` (a multiple of 16) into `out`. x
  // points at the first of these rows; rows are x_stride floats apart.
  void (*quantize_rows)(const float* x, size_t x_stride, size_t first_row, size_t count,
                        const QuantizedOutput& out) = nullptr;

  // The kernels from here on read rows of logits. This one finds the two largest of n values; if
  // the largest occurs twice, both are the same number. `place` is the lowest index of the largest.
  // With fewer than two values the missing ones are -infinity. `place` is always below n (0 for n =
  // 0), whatever the values are.
  TopTwo (*top_two)(const float* x, size_t n) = nullptr;
  // Writes the indices of the values that are at least `least`, in ascending order, and returns
  // their number. `places` must have room for n.
  size_t (*find_above)(const float* x, size_t n, float least, uint32_t* places) = nullptr;
  // Returns the sums over n values of e and of e * d, with d = max(x - shift, -100) and e = exp(d).
  // Both are NaN if a value is NaN or positive infinity, or if the shift is not finite.
  ExpSums (*exp_sums)(const float* x, size_t n, float shift) = nullptr;

  // The next two read the scores of a token memory; n is a multiple of 16. This one computes
  // scores += biases and returns the largest score before, of those with a bias above -infinity.
  float (*add_biases)(const float* biases, size_t n, float* scores) = nullptr;
  // Sums exp(score - shift), and writes the indices of the scores that are at least `least`, in
  // ascending order. `places` must have room for n; shift must be at least the largest score.
  ScoreSums (*sum_scores)(const float* scores, size_t n, float shift, float least,
                          uint32_t* places) = nullptr;

  // Null where rounding to bfloat16 makes no product faster.
  const RoundedKernels* rounded = nullptr;
};

// Returns the table in use: the best one for this machine, unless the environment variable
// RUVD_KERNELS or ForceKernels names another. The choice is made on the first call.
const KernelTable& Kernels();

// A table of this build and whether this machine can run it.
struct KernelCandidate {
  std::string name;
  bool available = false;
  std::string reason;  // "the processor has AVX-512 VNNI", "the processor lacks AMX"
};
// Returns all tables of this build, best first.
std::vector<KernelCandidate> KernelCandidates();

// Returns one sentence that says why the table in use was chosen.
std::string KernelChoiceReason();

// Uses the table of this name from now on; "" means the best. INVALID_ARGUMENT, with a list of the
// available tables, for any other name. Must not be called while a computation runs.
absl::Status ForceKernels(std::string_view name);

// Returns ForceKernels' error if RUVD_KERNELS names a table that cannot be used. In that case
// Kernels() takes the best table, so a program should check this at start and refuse to go on.
absl::Status CheckKernelsVariable();

// Returns every table that this machine can run, best first, for tests.
std::vector<KernelTable> AvailableKernels();

// Returns, for tests, one table for each instruction set of the float kernels that this build
// contains and this machine can run. The integer kernels are left out. Not thread-safe.
std::vector<KernelTable> KernelsOfAllTargets();

}  // namespace ruvd::inference
