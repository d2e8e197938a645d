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

// One end of a channel through somebody who is not trusted: messages that only the other end can
// read or make, in order. A message that was altered, left out, doubled or sent back opens nothing.
// Lengths and times stay visible. Movable; not thread-safe.
class SealedChannel {
 public:
  // Seals the next message: ChaCha20-Poly1305 (RFC 8439), numbered from 0.
  std::string Seal(std::string_view message);
  // Opens the next message of the other end. SEAL_BROKEN for anything else; the channel is then of
  // no use any more, and the caller ends it.
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

// A fresh X25519 key (RFC 7748) of one end of one channel. Who the other end is its public key does
// not say: both have to sign what holds both keys, and that is hashed into `session`. Wiped on
// destruction. Movable; not thread-safe.
class ChannelKey {
 public:
  using PublicKey = std::array<uint8_t, 32>;

  // From `random`, which is SecureRandomBytes except in tests.
  static ChannelKey Generate(const std::function<void(std::span<uint8_t>)>& random);

  const PublicKey& public_key() const { return public_key_; }
  // The channel to the holder of `peer`. Exactly one of both ends is `first`; both give the same
  // `session`. KEY_INVALID for a key of small order, with which everybody would know the secret.
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
