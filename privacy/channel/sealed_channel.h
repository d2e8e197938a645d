// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/bytes.h"

namespace ruvd::privacy {

// One end of a channel that runs through an untrusted relay. Only the two ends can read or make its
// messages, and they open only in order: after a message was altered, left out, doubled or sent
// back to its sender, Open fails. The relay sees the lengths and times of messages. It can be moved
// and is not thread-safe.
class SealedChannel {
 public:
  // Seals the next message: ChaCha20-Poly1305 (RFC 8439), numbered from 0.
  std::string Seal(std::string_view message);
  // Opens the next message of the other end and returns its text. Any other bytes give SEAL_BROKEN;
  // then the channel cannot be used any more, and the caller must end it.
  absl::StatusOr<std::string> Open(std::string_view sealed);

 private:
  friend class ChannelKey;
  struct Keys;
  struct WipeKeys {
    void operator()(Keys* keys) const;
  };
  explicit SealedChannel(std::unique_ptr<Keys, WipeKeys> keys);

  std::unique_ptr<Keys, WipeKeys> keys_;
  uint64_t sent_ = 0;
  uint64_t received_ = 0;
};

// A fresh X25519 key (RFC 7748) of one end of one channel. A public key does not prove who holds
// it: both ends must sign data that contains both keys, and the hash of that data must be
// `session`. It is wiped on destruction, can be moved and is not thread-safe.
class ChannelKey {
 public:
  using PublicKey = std::array<uint8_t, 32>;

  // Makes a key from `random`, which is SecureRandomBytes except in tests.
  static ChannelKey Generate(const std::function<void(std::span<uint8_t>)>& random);

  const PublicKey& public_key() const { return public_key_; }
  // Returns the channel to the holder of `peer`. Exactly one of the two ends passes true for
  // `first`; both pass the same `session`. A key of small order gives KEY_INVALID, because with it
  // anyone would know the secret.
  absl::StatusOr<SealedChannel> Agree(const PublicKey& peer, bool first,
                                      const Digest& session) const;

 private:
  struct Secret;
  struct WipeSecret {
    void operator()(Secret* secret) const;
  };
  ChannelKey() = default;

  PublicKey public_key_{};
  std::unique_ptr<Secret, WipeSecret> secret_;
};

}  // namespace ruvd::privacy
