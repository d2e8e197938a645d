// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/masking/messages.h"

#include <cstring>

#include "base/reasons.h"
#include "base/status.h"
#include "privacy/limits.h"

namespace ruvd::privacy::masking {
namespace {

constexpr uint16_t kVersion = 1;

absl::Status Malformed(std::string_view what) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kUpdateInvalid,
               "{} of a masked sum does not decode; update the sending node", what);
}

bool ReadVersion(ByteReader& reader) {
  return reader.Read<uint16_t>() == kVersion;
}

absl::StatusOr<MaskedUpdate> ReadHead(ByteReader& reader) {
  const bool known = ReadVersion(reader);
  const auto round = reader.Read<uint64_t>();
  const auto sender = reader.ReadArray<32>();
  const auto set = reader.ReadArray<32>();
  const auto layout = reader.ReadArray<32>();
  if (!known || reader.failed()) {
    return Malformed("a share");
  }
  return MaskedUpdate{
      .round = *round, .sender = *sender, .set = *set, .layout = *layout, .values = {}};
}

}  // namespace

std::string EncodeOffer(const MaskOffer& offer) {
  ByteWriter writer;
  writer.Write(kVersion).Write(offer.round).WriteBytes(offer.layout).WriteBytes(offer.key);
  return writer.Take();
}

absl::StatusOr<MaskOffer> DecodeOffer(std::span<const uint8_t> bytes) {
  ByteReader reader(bytes);
  const bool known = ReadVersion(reader);
  const auto round = reader.Read<uint64_t>();
  const auto layout = reader.ReadArray<32>();
  const auto key = reader.ReadArray<32>();
  if (!known || reader.failed() || reader.remaining() != 0) {
    return Malformed("an offer");
  }
  return MaskOffer{.round = *round, .layout = *layout, .key = *key};
}

std::string EncodeClique(const Clique& clique) {
  ByteWriter writer;
  writer.Write(kVersion).Write(clique.round.round).WriteBytes(clique.layout);
  writer.Write(static_cast<uint8_t>(clique.members.size()));
  for (const CliqueMember& member : clique.members) {
    writer.WriteBytes(member.id).WriteBytes(member.key);
  }
  return writer.Take();
}

absl::StatusOr<Clique> DecodeClique(std::span<const uint8_t> bytes, const ClusterId& cluster) {
  ByteReader reader(bytes);
  const bool known = ReadVersion(reader);
  const auto round = reader.Read<uint64_t>();
  const auto layout = reader.ReadArray<32>();
  const auto count = reader.Read<uint8_t>();
  if (!known || reader.failed() || *count > limits::kMaxCliqueMembers ||
      reader.remaining() != *count * sizeof(CliqueMember)) {
    return Malformed("a clique");
  }
  Clique clique{.round = {cluster, *round}, .layout = *layout, .members = {}};
  for (int i = 0; i < *count; ++i) {
    const auto id = *reader.ReadArray<32>();
    clique.members.push_back({.id = id, .key = *reader.ReadArray<32>()});
  }
  RETURN_IF_ERROR(clique.Check());
  return clique;
}

std::string EncodeMaskedUpdate(const MaskedUpdate& update) {
  ByteWriter writer;
  writer.Write(kVersion).Write(update.round).WriteBytes(update.sender);
  writer.WriteBytes(update.set).WriteBytes(update.layout);
  writer.Write(static_cast<uint32_t>(update.values.size()));
  writer.WriteBytes({reinterpret_cast<const uint8_t*>(update.values.data()),
                     update.values.size() * sizeof(uint32_t)});
  return writer.Take();
}

absl::StatusOr<MaskedUpdate> DecodeMaskedUpdate(std::span<const uint8_t> bytes) {
  ByteReader reader(bytes);
  ASSIGN_OR_RETURN(MaskedUpdate update, ReadHead(reader));
  const auto count = reader.Read<uint32_t>();
  if (reader.failed()) {
    return Malformed("a share");
  }
  if (*count > limits::kMaxMaskedValues) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kLimitExceeded,
                 "a share has {} values, more than the limit of {}; share a smaller rank", *count,
                 limits::kMaxMaskedValues);
  }
  if (reader.remaining() != *count * sizeof(uint32_t)) {
    return Malformed("a share");
  }
  update.values.resize(*count);
  const auto values = *reader.ReadBytes(*count * sizeof(uint32_t));
  if (!values.empty()) {
    std::memcpy(update.values.data(), values.data(), values.size());
  }
  return update;
}

absl::StatusOr<MaskedUpdate> DecodeMaskedUpdateHead(std::span<const uint8_t> bytes) {
  ByteReader reader(bytes);
  return ReadHead(reader);
}

}  // namespace ruvd::privacy::masking
