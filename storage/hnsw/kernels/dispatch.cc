// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Chooses the kernel for the processor that runs the program.

#include "base/cpu_features.h"
#include "storage/hnsw/kernels/nibble_kernels.h"

namespace ruvd::storage::hnsw {

std::vector<NibbleKernel> AvailableNibbleKernels() {
  [[maybe_unused]] const CpuFeatures& cpu = ThisCpu();
  std::vector<NibbleKernel> kernels;
#if defined(__x86_64__)
  if (cpu.avx512_vnni) {
    kernels.push_back({"avx512-vnni", DotNibblesAvx512Vnni});
  }
  if (cpu.avx_vnni) {
    kernels.push_back({"avx-vnni", DotNibblesAvxVnni});
  }
  if (cpu.avx2) {
    kernels.push_back({"avx2", DotNibblesAvx2});
  }
#elif defined(__aarch64__)
  if (cpu.neon_dotprod) {
    kernels.push_back({"neon-dotprod", DotNibblesNeonDotprod});
  }
  kernels.push_back({"neon", DotNibblesNeon});
#endif
  kernels.push_back({"scalar", DotNibblesScalar});
  return kernels;
}

DotNibblesFunction DotNibbles() {
  static const DotNibblesFunction best = AvailableNibbleKernels().front().dot;
  return best;
}

}  // namespace ruvd::storage::hnsw
