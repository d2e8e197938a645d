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

// 32 bytes by HKDF-SHA-256 (RFC 5869).
Digest HkdfSha256(std::span<const uint8_t> secret, std::span<const uint8_t> salt,
                  std::span<const uint8_t> info);

// A node's secret of one round. It lives in memory only, so that no restart of the process can
// repeat a mask. Wiped on destruction. Movable; thread-safe for concurrent const use.
class MaskKey {
 public:
  // From `random`, which is SecureRandomBytes except in tests.
  static MaskKey Generate(const dp::RandomBytes& random);

  const MaskPublicKey& public_key() const { return public_key_; }

  // KEY_INVALID for a key of small order, with which everybody would know the common secret.
  absl::Status CheckPeer(const MaskPublicKey& peer) const;

  // Adds the masks that `self` shares with every other member of the clique to `values`, mod 2^32:
  // of a pair the node with the lower id adds, the other subtracts, so that they cancel in the sum.
  // A mask is the ChaCha20 stream (RFC 8439) of a key derived from the pair's secret, the round,
  // the set and the layout. The clique has been checked and holds `self`. KEY_INVALID as above;
  // then `values` are wiped.
  absl::Status AddMasks(const Clique& clique, const NodeId& self, std::span<uint32_t> values) const;

 private:
  struct Secret;
  struct WipeSecret {
    void operator()(Secret* secret) const;
  };
  MaskKey() = default;
  // Writes the secret shared with a peer, which the caller wipes. Not returned: moves would leave
  // copies on the stack.
  absl::Status Share(const MaskPublicKey& peer, Digest* shared) const;

  MaskPublicKey public_key_{};
  std::unique_ptr<Secret, WipeSecret> secret_;
};

}  // namespace ruvd::privacy::masking
