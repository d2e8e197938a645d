// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "federation/daf/daf_round.h"
#include "node/sharing/dp_centroids.h"
#include "node/sharing/dp_release.h"
#include "node/sharing/federation.h"
#include "node/sharing/masked_view.h"
#include "privacy/consent/user_consent.h"
#include "privacy/consent/withdrawal.h"
#include "ruvd/admin/v1/admin.pb.h"

// What leaves a node, and who agreed to it, as messages of ruvd.admin.v1.
namespace ruvd::api {

void WriteRelease(const sharing::DpReleaseView& view, admin::v1::ReleaseStatus* message);
void WriteCentroidStatus(const sharing::DpCentroidsView& view, admin::v1::CentroidStatus* message);
void WritePreview(const sharing::ReleasePreview& preview,
                  admin::v1::PreviewReleaseResponse* message);
void WritePeer(const federation::PeerRecord& peer, admin::v1::PeerEffect* message);
void WriteMasked(const sharing::MaskedView& view, admin::v1::MaskedStatus* message);
void WriteRound(const sharing::FederatedOutcome& round, const std::vector<float>& boundaries,
                admin::v1::FederatedRound* message);
void WriteUserConsent(const privacy::UserConsent& record, admin::v1::UserConsent* message);

// What remains with others of all that ever left this node, whose view has a release.
privacy::ResidualPrivacy ResidualOf(const sharing::FederationView& view);
// The same for whoever takes a consent back; also where the ledger does not say what was released.
std::string ResidualText(const sharing::FederationView& view);

// From time 0 on: ConsentBook counts from the moment that it is noted. INVALID_ARGUMENT for one of
// nobody, or that does not last for 1 to 366 days.
absl::StatusOr<privacy::UserConsent> ReadUserConsent(
    const admin::v1::SetUserConsentRequest& request);

}  // namespace ruvd::api
