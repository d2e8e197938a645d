// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// What attackers have in common: envelopes that they seal without telling their core.

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "federation/gossip/manifest.h"
#include "ruvd/federation/v1/federation.pb.h"
#include "tests/sim/adversary_host.h"

namespace ruvd::test {

// Sequence numbers start here, beyond those that the node's own core reaches but within its replay
// windows.
inline constexpr uint64_t kOwnSequence = 600;

// Returns one of the open links; nullopt if there is no open link.
std::optional<federation::LinkId> RandomLink(AdversaryHost& host);
// Whether a frame keeps a link open without giving anything.
bool KeepsLinkOpen(const federation::v1::WireFrame& frame);
// Returns the header of an envelope of this node that is valid for a day.
privacy::EnvelopeHeader HeaderOf(AdversaryHost& host, privacy::EnvelopePurpose purpose,
                                 uint16_t body_type, uint64_t seq);
privacy::Envelope SealOwn(AdversaryHost& host, const privacy::EnvelopeHeader& header,
                          std::string body);
// Returns the round that is running on the node's clock.
uint64_t RoundOf(AdversaryHost& host);
// Return the header and the manifest of a contribution to the running round, as its core would make
// them.
privacy::EnvelopeHeader ContributionHeader(AdversaryHost& host, uint64_t seq);
federation::Manifest ManifestOf(AdversaryHost& host, const std::string& payload);
// Returns the payload of a contribution to the running round.
std::string SomePayload(AdversaryHost& host, uint64_t content_seed);
federation::v1::WireFrame PushOf(const privacy::Envelope& envelope);

}  // namespace ruvd::test
