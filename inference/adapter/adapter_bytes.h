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

// Returns an adapter as bytes, for storage payloads and messages. All numbers are little endian:
//   "RVAD", u32 format 1, 32 bytes model hash, u32 version, u16 name length, name, u8 kind,
//   32 bytes frame id (0 where the kind has no frame), u32 targets;
//   for each target, in ascending order of names: u16 name length, name, u32 rank, u32 in, u32 out,
//   f32 scale, rank*in f32 A, out*rank f32 B;
//   32 bytes SHA-256 of everything before.
// Equal adapters give equal bytes on every machine.
std::string EncodeAdapter(const Adapter& adapter);

// Reads the adapter in `bytes`. Every length is checked before memory is allocated.
// ADAPTER_INVALID, naming the faulty part, for a wrong checksum, structure or limit, or for a value
// that is not finite.
absl::StatusOr<std::shared_ptr<const Adapter>> DecodeAdapter(std::span<const uint8_t> bytes);

// Checks that an adapter may be applied to a model: ADAPTER_FOR_OTHER_MODEL for another model hash,
// ADAPTER_INVALID for a target that the model does not have or that has another shape.
absl::Status CheckAdapter(const Adapter& adapter, const Model& model);

// Returns the matrix of this tensor name ("blk.3.attn_q.weight", "output.weight"), or null.
const Matrix* FindMatrix(const Model& model, std::string_view tensor);

// Returns the name of a tensor of the last layer, e.g. for LastLayerTensor(model, "attn_output").
std::string LastLayerTensor(const Model& model, std::string_view part);

// Returns the content id: a SHA-256 over model hash and targets. Name, version and kind are not
// included, so equal changes have equal ids under any name.
Digest AdapterId(const Adapter& adapter);

// Returns "name@version" for a message. The name may come from a file or a peer, so it is cleaned
// as in base/sanitize_for_display.h.
std::string AdapterLabel(const Adapter& adapter);

}  // namespace ruvd::inference
