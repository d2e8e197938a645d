// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>

// Limits on what an imported folder may hold.
namespace ruvd::limits {

// config.json is a page of text; tokenizer_config.json lists every special token and has chat
// templates of some ten kilobytes.
inline constexpr uint64_t kMaxImportConfigBytes = 8 << 20;
// The largest tokenizer.json in use (some 250 000 entries) has about 35 MB.
inline constexpr uint64_t kMaxImportTokenizerBytes = 128 << 20;
// model.safetensors.index.json: some hundred bytes a tensor.
inline constexpr uint64_t kMaxImportIndexBytes = 64 << 20;
// The largest public models have fewer than 200 files.
inline constexpr uint64_t kMaxImportFiles = 1024;
// What file systems allow.
inline constexpr uint64_t kMaxImportFileName = 255;
// The safetensors format's own limit on its header.
inline constexpr uint64_t kMaxSafetensorsHeaderBytes = 100 << 20;
// Beyond every architecture we read: they have matrices and vectors only.
inline constexpr uint64_t kMaxSafetensorsDimensions = 4;
// Files in use nest some ten levels; what walks a value is recursive.
inline constexpr size_t kMaxImportJsonDepth = 64;

}  // namespace ruvd::limits
