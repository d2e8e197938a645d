// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

namespace ruvd {

// The instruction sets that vector kernels can use. A set counts only if the processor has it and
// the operating system saves its registers.
struct CpuFeatures {
  bool avx2 = false;  // with FMA and F16C
  bool avx_vnni = false;
  bool avx512 = false;  // F, BW, DQ, VL
  bool avx512_vnni = false;
  bool avx512_bf16 = false;
  bool amx_int8 = false;  // usable: the kernel has granted the tile registers
  bool amx_bf16 = false;  // likewise, with avx512_bf16
  bool neon_dotprod = false;
  bool neon_i8mm = false;
};

// Returns what this processor supports. The first call detects it and asks the operating system for
// permission to use the AMX registers. Thread-safe.
const CpuFeatures& ThisCpu();

}  // namespace ruvd
