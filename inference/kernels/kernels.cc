// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Compiles the kernels once for each instruction set. The choice among them is made at run time.

// SVE and RISC-V vectors have a size unknown at compile time and cannot be kept in arrays, which
// the register tiles need. SSSE3 without SSE4 is not found on any machine of the last fifteen
// years.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV | HWY_SSSE3)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "inference/kernels/kernels.cc"
#include <hwy/foreach_target.h>  // must come before highway.h and all headers that include it
#include <hwy/highway.h>

#include "inference/kernels/attention-inl.h"
#include "inference/kernels/decode-inl.h"
#include "inference/kernels/float_kernels.h"
#include "inference/kernels/kernel_table.h"
#include "inference/kernels/product-inl.h"
#include "inference/kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ruvd::inference {
namespace HWY_NAMESPACE {

void FillTable(KernelTable* table) {
  table->target = hwy::TargetName(HWY_TARGET);
  table->decodes = Decodes;
  table->decode = Decode;
  table->multiply_abt = MultiplyAbt;
  table->multiply_ab = MultiplyAb;
  table->rms_norm = RmsNorm;
  table->rotate = Rotate;
  table->rotate_adjacent = RotateAdjacent;
  table->swiglu = Swiglu;
  table->rms_norm_backward = RmsNormBackward;
  table->swiglu_backward = SwigluBackward;
  table->exp_affine = ExpAffine;
  table->add = Add;
  table->max = Max;
  table->sum_exp = SumExp;
  table->top_two = FindTopTwo;
  table->find_above = FindAbove;
  table->exp_sums = SumExpEnergy;
  table->add_biases = AddBiases;
  table->sum_scores = SumScores;
  table->attend = Attend;
  table->narrow = Narrow;
  table->widen = Widen;
}

}  // namespace HWY_NAMESPACE
}  // namespace ruvd::inference
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ruvd::inference {

HWY_EXPORT(FillTable);

namespace {

// Fills the float kernels with the best of `targets` that this machine supports.
void FillFrom(int64_t targets, KernelTable* table) {
  hwy::SetSupportedTargetsForTest(targets);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  HWY_DYNAMIC_DISPATCH(FillTable)(table);
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace

void FillFloatKernels(FloatLevel level, KernelTable* table) {
  const int64_t all = hwy::SupportedTargets() & HWY_TARGETS;
  int64_t allowed = all;
#if HWY_ARCH_X86
  if (level == FloatLevel::kAvx2) {
    allowed = all & ~(HWY_AVX3 | HWY_AVX3_DL);
  }
#endif
  if (level == FloatLevel::kBaseline) {
    allowed = all & HWY_STATIC_TARGET;
  }
  FillFrom(allowed, table);
}

std::vector<KernelTable> KernelsOfAllTargets() {
  std::vector<KernelTable> tables;
  for (int64_t left = hwy::SupportedTargets() & HWY_TARGETS; left != 0; left &= left - 1) {
    FillFrom(left & -left, &tables.emplace_back());
  }
  return tables;
}

}  // namespace ruvd::inference
#endif  // HWY_ONCE
