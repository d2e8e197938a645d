// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/channel/sealed_channel.h"

#include <sodium.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "privacy/masking/mask_key.h"
#include "privacy/sodium.h"

namespace ruvd::privacy {
namespace {

constexpr size_t kTagBytes = crypto_aead_chacha20poly1305_ietf_ABYTES;
using Nonce = std::array<uint8_t, crypto_aead_chacha20poly1305_ietf_NPUBBYTES>;

// The nonce is four zero bytes, then the number of the message. It never repeats, because a key
// seals only one direction of one channel.
Nonce NonceOf(uint64_t number) {
  Nonce nonce{};
  std::memcpy(nonce.data() + 4, &number, sizeof(number));
  return nonce;
}

Digest DirectionKey(const Digest& shared, const Digest& session, uint8_t direction) {
  constexpr std::string_view kSalt("RUVDLLM-CHANNEL-v1\0", 19);
  ByteWriter info;
  info.WriteBytes(session).Write(direction);
  return masking::HkdfSha256(shared, AsBytes(kSalt), AsBytes(info.str()));
}

}  // namespace

struct SealedChannel::Keys {
  Digest send{};
  Digest receive{};
};

void SealedChannel::WipeKeys::operator()(Keys* keys) const {
  SecureWipe(keys->send);
  SecureWipe(keys->receive);
  delete keys;
}

SealedChannel::SealedChannel(std::unique_ptr<Keys, WipeKeys> keys) : keys_(std::move(keys)) {}

std::string SealedChannel::Seal(std::string_view message) {
  const Nonce nonce = NonceOf(sent_++);
  std::string sealed(message.size() + kTagBytes, '\0');
  crypto_aead_chacha20poly1305_ietf_encrypt(reinterpret_cast<uint8_t*>(sealed.data()), nullptr,
                                            AsBytes(message).data(), message.size(), nullptr, 0,
                                            nullptr, nonce.data(), keys_->send.data());
  return sealed;
}

absl::StatusOr<std::string> SealedChannel::Open(std::string_view sealed) {
  const Nonce nonce = NonceOf(received_);
  std::string message(sealed.size() - std::min(sealed.size(), kTagBytes), '\0');
  if (sealed.size() < kTagBytes ||
      crypto_aead_chacha20poly1305_ietf_decrypt(
          reinterpret_cast<uint8_t*>(message.data()), nullptr, nullptr, AsBytes(sealed).data(),
          sealed.size(), nullptr, 0, nonce.data(), keys_->receive.data()) != 0) {
    return Error(absl::StatusCode::kDataLoss, reasons::kSealBroken,
                 "message {} of a sealed channel does not open: a message was altered or left out "
                 "on its way; reach the other end by another route",
                 received_);
  }
  ++received_;
  return message;
}

struct ChannelKey::Secret {
  std::array<uint8_t, crypto_scalarmult_SCALARBYTES> bytes{};
};

void ChannelKey::WipeSecret::operator()(Secret* secret) const {
  SecureWipe(secret->bytes);
  delete secret;
}

ChannelKey ChannelKey::Generate(const std::function<void(std::span<uint8_t>)>& random) {
  InitSodium();
  ChannelKey key;
  key.secret_.reset(new Secret);
  random(key.secret_->bytes);
  RUVD_CHECK(crypto_scalarmult_base(key.public_key_.data(), key.secret_->bytes.data()) == 0);
  return key;
}

absl::StatusOr<SealedChannel> ChannelKey::Agree(const PublicKey& peer, bool first,
                                                const Digest& session) const {
  Digest shared{};
  if (crypto_scalarmult(shared.data(), secret_->bytes.data(), peer.data()) != 0) {
    SecureWipe(shared);
    return Error(
        absl::StatusCode::kInvalidArgument, reasons::kKeyInvalid,
        "{} cannot be used as a channel key, because it has small order; update the other node",
        ToHex(peer));
  }
  std::unique_ptr<SealedChannel::Keys, SealedChannel::WipeKeys> keys(new SealedChannel::Keys);
  keys->send = DirectionKey(shared, session, first ? 1 : 2);
  keys->receive = DirectionKey(shared, session, first ? 2 : 1);
  SecureWipe(shared);
  return SealedChannel(std::move(keys));
}

}  // namespace ruvd::privacy
