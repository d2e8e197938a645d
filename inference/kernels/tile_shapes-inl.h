// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Included by sources that are compiled for AMX.

#pragma once

#include <immintrin.h>

#include <cstdint>

namespace ruvd::inference {
namespace {

// The operand of LDTILECFG (Intel SDM, volume 1, section 18.2).
struct alignas(64) TileShapes {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};

  void Load() const {
    // The intrinsic of g++ 12 tells the compiler only that the operand's first eight bytes are
    // read.
    asm volatile("" : : "m"(*this));
    _tile_loadconfig(this);
  }
};

}  // namespace
}  // namespace ruvd::inference
