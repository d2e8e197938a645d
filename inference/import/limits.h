// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>

// Limits of an imported folder.
namespace ruvd::limits {

// config.json is a page of text. tokenizer_config.json lists every special token and has chat
// templates of about ten kilobytes.
inline constexpr uint64_t kMaxImportConfigBytes = 8 << 20;
// The largest tokenizer.json in use (about 250 000 entries) has about 35 MB.
inline constexpr uint64_t kMaxImportTokenizerBytes = 128 << 20;
// model.safetensors.index.json takes about a hundred bytes for each tensor.
inline constexpr uint64_t kMaxImportIndexBytes = 64 << 20;
// The largest public models have fewer than 200 files.
inline constexpr uint64_t kMaxImportFiles = 1024;
// File systems allow names of this many bytes.
inline constexpr uint64_t kMaxImportFileName = 255;
// The safetensors format itself limits its header to this size.
inline constexpr uint64_t kMaxSafetensorsHeaderBytes = 100 << 20;
// All supported architectures need only matrices and vectors.
inline constexpr uint64_t kMaxSafetensorsDimensions = 4;
// Files in use have about ten levels. Functions that visit a value are recursive.
inline constexpr size_t kMaxImportJsonDepth = 64;

}  // namespace ruvd::limits
