// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/actors/masked_options.h"

#include "privacy/sodium.h"

namespace ruvd::actors {

sharing::MaskedSharingOptions MaskedOptionsOf(const FederationActorOptions& options,
                                              const sharing::OwnPatterns& own) {
  return {.period = options.masked_period,
          .cluster = privacy::ClusterIdOf(options.gossip.certificate.issuer),
          .self = options.key->id(),
          .layout = options.model->layout(),
          .next_update =
              [&own](federation::Instant now) {
                return own.NextDelta(privacy::ConsentTier::kMasked, now);
              },
          .release = options.release,
          .consents = options.consents,
          .state = options.state,
          .random = privacy::SecureRandomBytes};
}

}  // namespace ruvd::actors
