// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "privacy/dp/discrete_gaussian.h"
#include "privacy/masking/clique.h"

namespace ruvd::privacy::masking {

// Derives 32 bytes with HKDF-SHA-256 (RFC 5869).
Digest HkdfSha256(std::span<const uint8_t> secret, std::span<const uint8_t> salt,
                  std::span<const uint8_t> info);

// A node's secret key for one round. It exists only in memory, so that a restart of the process
// cannot repeat a mask. It is wiped on destruction. It can be moved and is thread-safe for
// concurrent const use.
class MaskKey {
 public:
  // Makes a key from `random`, which is SecureRandomBytes except in tests.
  static MaskKey Generate(const dp::RandomBytes& random);

  const MaskPublicKey& public_key() const { return public_key_; }

  // Returns KEY_INVALID for a key of small order, because with it anyone would know the common
  // secret.
  absl::Status CheckPeer(const MaskPublicKey& peer) const;

  // Adds the masks that `self` shares with every other member of the clique to `values`, mod 2^32.
  // In each pair the node with the lower id adds the mask and the other one subtracts it, so that
  // the masks cancel in the sum. A mask is the ChaCha20 stream (RFC 8439) of a key derived from the
  // pair's secret, the round, the set and the layout. The clique must have been checked and contain
  // `self`. Fails with KEY_INVALID as CheckPeer does; then `values` are wiped.
  absl::Status AddMasks(const Clique& clique, const NodeId& self, std::span<uint32_t> values) const;

 private:
  struct Secret;
  struct WipeSecret {
    void operator()(Secret* secret) const;
  };
  MaskKey() = default;
  // Writes the secret shared with a peer to `shared`, which the caller must wipe. It is not a
  // return value, because moves would leave copies on the stack.
  absl::Status DeriveSharedSecret(const MaskPublicKey& peer, Digest* shared) const;

  MaskPublicKey public_key_{};
  std::unique_ptr<Secret, WipeSecret> secret_;
};

}  // namespace ruvd::privacy::masking
