// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/masking/mask_key.h"

#include <sodium.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "base/reasons.h"
#include "base/status.h"
#include "privacy/sodium.h"

namespace ruvd::privacy::masking {
namespace {

constexpr size_t kBlockBytes = 64;  // block size of ChaCha20
constexpr size_t kValuesAtOnce = 4096;

Digest Hmac(std::span<const uint8_t> key, std::initializer_list<std::span<const uint8_t>> parts) {
  crypto_auth_hmacsha256_state state;
  Digest out;
  crypto_auth_hmacsha256_init(&state, key.data(), key.size());
  for (const std::span<const uint8_t> part : parts) {
    crypto_auth_hmacsha256_update(&state, part.data(), part.size());
  }
  crypto_auth_hmacsha256_final(&state, out.data());
  SecureWipe({reinterpret_cast<uint8_t*>(&state), sizeof(state)});
  return out;
}

// Returns the key of the mask of two members; `low` has the lower id.
Digest PairKey(const Digest& shared, const Clique& clique, const NodeId& low, const NodeId& high) {
  constexpr std::string_view kSalt("RUVDLLM-MASK-v1\0", 16);
  ByteWriter info;
  info.WriteBytes(clique.round.cluster).Write(clique.round.round).WriteBytes(clique.SetHash());
  info.WriteBytes(clique.layout).WriteBytes(low).WriteBytes(high);
  return HkdfSha256(shared, AsBytes(kSalt), AsBytes(info.str()));
}

// Adds or subtracts a ChaCha20 stream as little-endian numbers. Each key is used for only one
// stream, so the nonce is zero.
void AddStream(const Digest& key, bool subtract, std::span<uint32_t> values) {
  static_assert(kValuesAtOnce * sizeof(uint32_t) % kBlockBytes == 0);
  constexpr std::array<uint8_t, crypto_stream_chacha20_ietf_NONCEBYTES> kNonce{};
  std::array<uint32_t, kValuesAtOnce> stream{};
  uint32_t block = 0;
  while (!values.empty()) {
    const size_t count = std::min(values.size(), stream.size());
    stream.fill(0);
    auto* const bytes = reinterpret_cast<uint8_t*>(stream.data());
    crypto_stream_chacha20_ietf_xor_ic(bytes, bytes, sizeof(stream), kNonce.data(), block,
                                       key.data());
    for (size_t i = 0; i < count; ++i) {
      values[i] += subtract ? 0 - stream[i] : stream[i];
    }
    values = values.subspan(count);
    block += sizeof(stream) / kBlockBytes;
  }
  SecureWipe({reinterpret_cast<uint8_t*>(stream.data()), sizeof(stream)});
}

}  // namespace

Digest HkdfSha256(std::span<const uint8_t> secret, std::span<const uint8_t> salt,
                  std::span<const uint8_t> info) {
  InitSodium();
  constexpr uint8_t kFirstBlock[] = {1};
  Digest extracted = Hmac(salt, {secret});
  const Digest out = Hmac(extracted, {info, kFirstBlock});
  SecureWipe(extracted);
  return out;
}

struct MaskKey::Secret {
  std::array<uint8_t, crypto_scalarmult_SCALARBYTES> bytes{};
};

void MaskKey::WipeSecret::operator()(Secret* secret) const {
  SecureWipe(secret->bytes);
  delete secret;
}

MaskKey MaskKey::Generate(const dp::RandomBytes& random) {
  InitSodium();
  MaskKey key;
  key.secret_.reset(new Secret);
  random(key.secret_->bytes);
  RUVD_CHECK(crypto_scalarmult_base(key.public_key_.data(), key.secret_->bytes.data()) == 0);
  return key;
}

absl::Status MaskKey::DeriveSharedSecret(const MaskPublicKey& peer, Digest* shared) const {
  RUVD_CHECK(secret_ != nullptr);
  if (crypto_scalarmult(shared->data(), secret_->bytes.data(), peer.data()) != 0) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kKeyInvalid,
                 "{} cannot be used as a mask key, because it has small order; leave its node out",
                 ToHex(peer));
  }
  return absl::OkStatus();
}

absl::Status MaskKey::CheckPeer(const MaskPublicKey& peer) const {
  Digest shared{};
  const absl::Status status = DeriveSharedSecret(peer, &shared);
  SecureWipe(shared);
  return status;
}

absl::Status MaskKey::AddMasks(const Clique& clique, const NodeId& self,
                               std::span<uint32_t> values) const {
  for (const CliqueMember& member : clique.members) {
    if (member.id == self) {
      continue;
    }
    Digest shared{};
    if (absl::Status status = DeriveSharedSecret(member.key, &shared); !status.ok()) {
      SecureWipe(shared);
      SecureWipe({reinterpret_cast<uint8_t*>(values.data()), values.size_bytes()});
      return status;
    }
    const bool is_low = self < member.id;
    Digest key = PairKey(shared, clique, is_low ? self : member.id, is_low ? member.id : self);
    AddStream(key, !is_low, values);
    SecureWipe(shared);
    SecureWipe(key);
  }
  return absl::OkStatus();
}

}  // namespace ruvd::privacy::masking
