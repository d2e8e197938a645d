// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "inference/kernels/rounded.h"

namespace ruvd::inference {

// Returns the kernels for processors with CpuFeatures::amx_bf16; only x86-64 has them.
const RoundedKernels& AmxRoundedKernels();

}  // namespace ruvd::inference
