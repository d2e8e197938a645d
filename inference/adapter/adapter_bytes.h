// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "inference/adapter/adapter.h"
#include "inference/model/model.h"

namespace ruvd::inference {

// An adapter as bytes, for storage payloads and messages. Little endian:
//   "RVAD", u32 format 1, 32 bytes model hash, u32 version, u16 name length, name, u32 targets;
//   format 2, for every kind but kLora, has u8 kind and 32 bytes frame id before the targets;
//   per target in ascending order of name: u16 name length, name, u32 rank, u32 in, u32 out,
//   f32 scale, rank*in f32 A, out*rank f32 B;
//   32 bytes SHA-256 of all before.
// The same adapter gives the same bytes on every machine.
std::string EncodeAdapter(const Adapter& adapter);

// The adapter in `bytes`. Every length is checked before anything is allocated. ADAPTER_INVALID
// (which part is wrong) for a broken checksum, structure, limit or a value that is not finite.
absl::StatusOr<std::shared_ptr<const Adapter>> DecodeAdapter(std::span<const uint8_t> bytes);

// Checks that an adapter may be applied to a model: ADAPTER_FOR_OTHER_MODEL for another model hash,
// ADAPTER_INVALID for a target the model lacks or a shape that differs from it.
absl::Status CheckAdapter(const Adapter& adapter, const Model& model);

// The matrix of this tensor name ("blk.3.attn_q.weight", "output.weight"), or null.
const Matrix* FindMatrix(const Model& model, std::string_view tensor);

// The name of a tensor of the last layer, e.g. LastLayerTensor(model, "attn_output").
std::string LastLayerTensor(const Model& model, std::string_view part);

// Content id: SHA-256 over model hash and targets, not over name, version and kind: equal changes
// have equal ids under any name.
Digest AdapterId(const Adapter& adapter);

// "name@version" for a message, the name as base/shown.h shows it: it may come from a file or peer.
std::string AdapterLabel(const Adapter& adapter);

}  // namespace ruvd::inference
