// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "inference/kernels/kernel_table.h"

// The integer kernels of each instruction set. Each function sets multiply_packed and
// quantize_rows, and exists only in builds for its processor family. It may be called on any
// machine, but the kernels that it sets may run only on machines where cpu_features.h finds the
// instructions.
namespace ruvd::inference::integer {

void FillScalar(KernelTable* table);
#if defined(__x86_64__)
void FillAvx2(KernelTable* table);
void FillAvxVnni(KernelTable* table);
void FillAvx512Vnni(KernelTable* table);
void FillAmx(KernelTable* table);
#elif defined(__aarch64__)
void FillNeon(KernelTable* table);
void FillNeonDotprod(KernelTable* table);
void FillNeonI8mm(KernelTable* table);
#endif

}  // namespace ruvd::inference::integer
