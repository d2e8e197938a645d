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

namespace ruvd::inference {

// y (rows x outputs) = a (rows x columns) times b transposed, b (outputs x columns) in a file
// format. Strides are distances between rows: of floats for a and y, of bytes for b.
struct ProductAbt {
  const float* a = nullptr;
  size_t a_stride = 0;
  size_t rows = 0;
  const uint8_t* b = nullptr;
  size_t b_stride = 0;
  TensorType b_type = TensorType::kF32;  // one that `decodes` accepts
  size_t outputs = 0;
  size_t columns = 0;
  float* y = nullptr;
  size_t y_stride = 0;
  // Scratch for decoded rows of b, `panel_floats` long; unused where b is F32 or rows are few.
  float* panel = nullptr;
  size_t panel_floats = 0;  // at least `columns`
};

// y (rows x columns) = a (rows x inner) times b (inner x columns), all float32; added to y with
// `accumulate`. Strides are in floats.
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
  size_t place = 0;  // of the first
};

struct ExpSums {
  double mass = 0;
  double energy = 0;
};

// The inner loops of inference for one instruction set. All are pure functions of their arguments,
// reentrant, without alignment demands. A result never depends on how rows or outputs are divided
// among calls except at the borders a caller chooses, so callers divide at fixed borders.
struct KernelTable {
  const char* name = "";    // of the whole table, e.g. "avx512-vnni"
  const char* target = "";  // the instruction set of the float kernels, e.g. "AVX3"

  // True for the formats that the kernels decode themselves.
  bool (*decodes)(TensorType type) = nullptr;
  // `count` values from the start of `bytes`; whole blocks. Equal to Dequantize bit for bit.
  void (*decode)(TensorType type, const uint8_t* bytes, size_t count, float* out) = nullptr;

  // Products: sums run over vector lanes in a fixed order that depends on `columns` only.
  void (*multiply_abt)(const ProductAbt& product) = nullptr;
  // Sums run over `inner` in ascending order.
  void (*multiply_ab)(const ProductAb& product) = nullptr;

  // y = x / sqrt(mean(x^2) + epsilon) * weight (RMSNorm, arXiv 1910.07467).
  void (*rms_norm)(const float* x, const float* weight, float epsilon, size_t n,
                   float* y) = nullptr;
  // Rotates the pairs (x[i], x[i + half]) by the angle whose cosine and sine are given (RoPE in
  // the half-split or NEOX layout, arXiv 2104.09864).
  void (*rotate)(float* x, const float* cosine, const float* sine, size_t half) = nullptr;
  // The same for the pairs (x[2i], x[2i + 1]).
  void (*rotate_adjacent)(float* x, const float* cosine, const float* sine, size_t pairs) = nullptr;
  // out = gate * sigmoid(gate) * up (SwiGLU, arXiv 2002.05202).
  void (*swiglu)(const float* gate, const float* up, size_t n, float* out) = nullptr;
  // Derivatives, for training. RMSNorm: dx += dL/dx given dy = dL/dy.
  void (*rms_norm_backward)(const float* x, const float* weight, float epsilon, const float* dy,
                            size_t n, float* dx) = nullptr;
  // SwiGLU: replaces gate and up by dL/dgate and dL/dup given dy.
  void (*swiglu_backward)(const float* dy, size_t n, float* gate, float* up) = nullptr;
  // x = exp(scale * x - shift); returns the sum. The exponents are at most about zero.
  float (*exp_affine)(float* x, size_t n, float scale, float shift) = nullptr;
  // y += x.
  void (*add)(const float* x, size_t n, float* y) = nullptr;
  // Largest of n > 0 values.
  float (*max)(const float* x, size_t n) = nullptr;
  // Sum of exp(x - shift), shift at least the largest x.
  float (*sum_exp)(const float* x, size_t n, float shift) = nullptr;

  // Adds keys and values to the running sums of queries.
  void (*attend)(const AttentionStep& step) = nullptr;
  // Turns n values into a cached format, tightly packed, rounding to nearest; returns the scale by
  // which kQ8 must be multiplied, one for the others. Values outside the range of kF16 become its
  // largest.
  float (*narrow)(KvFormat format, const float* x, size_t n, void* out) = nullptr;
  // The stored values as float32 without their scale; n is a multiple of 16.
  void (*widen)(KvFormat format, const void* from, size_t n, float* out) = nullptr;
  // Integer products (packed.h): sums run over blocks in ascending order. The results of these two
  // are the same bits in every table.
  void (*multiply_packed)(const PackedProduct& product) = nullptr;
  // Quantises `count` rows of `out`, those of the group that begins at `first_row` (a multiple of
  // 16); x points at the first of them, rows are x_stride floats apart.
  void (*quantize_rows)(const float* x, size_t x_stride, size_t first_row, size_t count,
                        const QuantizedOutput& out) = nullptr;

  // For reading rows of logits.
  // The two largest of n values, equal ones counting apart; the first is at the lowest of its
  // places. -infinity where there are fewer. Whatever the values, the place is below n (0 for n =
  // 0).
  TopTwo (*top_two)(const float* x, size_t n) = nullptr;
  // Writes the places of the values that are at least `least`, ascending, and returns their number.
  // `places` has room for n.
  size_t (*find_above)(const float* x, size_t n, float least, uint32_t* places) = nullptr;
  // Sums over n values of e and of e * d, with d = max(x - shift, -100) and e = exp(d). NaN where a
  // value is NaN or positive infinity, or the shift is not finite.
  ExpSums (*exp_sums)(const float* x, size_t n, float shift) = nullptr;
};

// The table in use: the best one of this machine, unless the environment variable RUVD_KERNELS or
// ForceKernels names another. Chosen on the first call.
const KernelTable& Kernels();

// A table of this build and whether this machine can run it.
struct KernelCandidate {
  std::string name;
  bool available = false;
  std::string reason;  // "the processor has AVX-512 VNNI", "the processor lacks AMX"
};
// All tables of this build, best first.
std::vector<KernelCandidate> KernelCandidates();

// Why the table in use was chosen, one sentence.
std::string KernelChoiceReason();

// Uses the table of this name from now on; "" means the best. INVALID_ARGUMENT, listing what is
// available, for any other name. Not while a computation runs.
absl::Status ForceKernels(std::string_view name);

// Whether RUVD_KERNELS names a table that can be used: ForceKernels' error if not. Kernels() then
// takes the best table, so whoever starts a node should refuse to go on.
absl::Status CheckKernelsVariable();

// Every table that this machine can run, best first, for tests.
std::vector<KernelTable> AvailableKernels();

// One table for each instruction set of the float kernels that this machine can run and this build
// contains, for tests; the integer kernels are left out. Not thread-safe.
std::vector<KernelTable> KernelsOfAllTargets();

}  // namespace ruvd::inference
