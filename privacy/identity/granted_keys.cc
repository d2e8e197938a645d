// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/identity/granted_keys.h"

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "privacy/limits.h"
#include "privacy/reasons.h"

namespace ruvd::privacy {
namespace {

constexpr std::string_view kMagic = "RUVDKEY1";
constexpr size_t kRowBytes = sizeof(NodeId) + 4 + sizeof(PublicKey) + 8;

absl::Status Replaced(const NodeId& node, uint32_t epoch, uint32_t granted) {
  return Error(
      absl::StatusCode::kPermissionDenied, reasons::kKeyEpochRefused,
      "key {} of node {} is not the one that the authority granted, or was replaced by key {}; end "
      "on that node what `ruvd cert rotate` began by running it again, or, if somebody else "
      "replaced the key, revoke the node and join as another one",
      epoch, ToHex(node).substr(0, 16), granted);
}

}  // namespace

std::string EncodeGrantedKeys(const GrantedKeys& keys) {
  ByteWriter writer;
  writer.WriteText(kMagic).Write(static_cast<uint32_t>(keys.size()));
  for (const auto& [node, granted] : keys) {
    writer.WriteBytes(node).Write(granted.epoch).WriteBytes(granted.key);
    writer.Write(granted.former_until_ms);
  }
  return writer.Take();
}

absl::StatusOr<GrantedKeys> DecodeGrantedKeys(std::span<const uint8_t> bytes) {
  ByteReader reader(bytes);
  const auto magic = reader.ReadBytes(kMagic.size());
  const auto count = reader.Read<uint32_t>();
  GrantedKeys keys;
  bool good = !reader.failed() && AsText(*magic) == kMagic && *count <= limits::kMaxGrantedKeys &&
              reader.remaining() == uint64_t{*count} * kRowBytes;
  for (uint32_t i = 0; good && i < *count; ++i) {
    const auto node = reader.ReadArray<32>();
    const auto epoch = reader.Read<uint32_t>();
    const auto key = reader.ReadArray<32>();
    const GrantedKey granted{
        .epoch = *epoch, .key = *key, .former_until_ms = *reader.Read<int64_t>()};
    good = (keys.empty() || keys.rbegin()->first < *node) && granted.epoch > 0 &&
           granted.former_until_ms >= 0;
    keys.emplace_hint(keys.end(), *node, granted);
  }
  if (!good) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kKeyInvalid,
                 "the authority's list of replaced keys does not decode; restore it from a backup, "
                 "because without it a thief of a former key could be certified again");
  }
  return keys;
}

absl::Status RequireNewest(const GrantedKeys& keys, const NodeId& node, uint32_t epoch,
                           const PublicKey& key) {
  const auto found = keys.find(node);
  return found == keys.end() || epoch > found->second.epoch ||
                 (epoch == found->second.epoch && key == found->second.key)
             ? absl::OkStatus()
             : Replaced(node, epoch, found->second.epoch);
}

absl::Status RequireThroughGranted(const GrantedKeys& keys, const NodeKeys& shown) {
  const auto found = keys.find(shown.node());
  return found == keys.end() || (shown.epoch() >= found->second.epoch &&
                                 shown.Of(found->second.epoch) == found->second.key)
             ? absl::OkStatus()
             : Replaced(shown.node(), shown.epoch(), found->second.epoch);
}

std::vector<EndedKeys> EndedAt(const GrantedKeys& keys, int64_t now_ms) {
  std::vector<EndedKeys> ended;
  for (const auto& [node, granted] : keys) {
    if (granted.former_until_ms <= now_ms &&
        now_ms - granted.former_until_ms < limits::kRevocationLifeMillis) {
      ended.push_back({.id = node, .least_epoch = granted.epoch});
    }
  }
  return ended;
}

}  // namespace ruvd::privacy
