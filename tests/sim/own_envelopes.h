// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// What attackers have in common: envelopes that they seal without their core's knowledge.

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "federation/gossip/manifest.h"
#include "ruvd/federation/v1/federation.pb.h"
#include "tests/sim/sim_node.h"

namespace ruvd::test {

// Sequence numbers beyond those that the node's own core counts to, within its replay windows.
inline constexpr uint64_t kOwnSequence = 600;

// One of the links that are open; nullopt where there is none.
std::optional<federation::LinkId> RandomLink(SimNode& node);
// Whether a frame keeps a link open and gives nothing.
bool KeepsLinkOpen(const federation::v1::Frame& frame);
// The header of an envelope of this node, good for a day.
privacy::EnvelopeHeader HeaderOf(SimNode& node, privacy::EnvelopePurpose purpose,
                                 uint16_t body_type, uint64_t seq);
privacy::Envelope SealOwn(SimNode& node, privacy::EnvelopePurpose purpose, uint16_t body_type,
                          uint64_t seq, std::string body);
// The manifest of an update with this payload, as its core would make it.
federation::Manifest ManifestOf(SimNode& node, const std::string& payload);
federation::v1::Frame PushOf(const privacy::Envelope& envelope);

}  // namespace ruvd::test
