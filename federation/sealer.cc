// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/sealer.h"

namespace ruvd::federation {

absl::StatusOr<privacy::Envelope> Sealer::Seal(privacy::EnvelopePurpose purpose, uint16_t body_type,
                                               uint64_t round, std::string body, int64_t created_ms,
                                               int64_t expires_ms) {
  privacy::EnvelopeHeader header;
  header.purpose = purpose;
  header.cluster_id = local_->cluster_id;
  header.boot_id = privacy::BootIdOf(local_->key->id(), local_->boot_counter);
  header.seq = next_seq_++;
  header.round = round;
  header.created_ms = created_ms;
  header.expires_ms = expires_ms;
  entropy_(header.nonce);
  header.body_type = body_type;
  return SealEnvelope(header, std::move(body), *local_->key);
}

}  // namespace ruvd::federation
