// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "node/sharing/federation.h"
#include "privacy/consent/user_consent.h"
#include "privacy/consent/withdrawal.h"
#include "ruvd/privacy/v1/privacy.pb.h"

// Converts releases and consents to messages of ruvd.privacy.v1.
namespace ruvd::api {

void WriteUserConsent(const privacy::UserConsent& record, privacy::v1::UserConsent* message);

// Returns the privacy loss that remains from everything that ever left this node. `view` must have
// a release.
privacy::ResidualPrivacy ResidualOf(const sharing::FederationView& view);
// Describes that remaining loss for a user or operator who withdraws a consent, even if the ledger
// cannot be read.
std::string ResidualText(const sharing::FederationView& view);

// Reads a consent with times relative to 0, because ConsentBook counts from the moment that it is
// stored. INVALID_ARGUMENT if it names no user or session, or does not last for 1 to 366 days.
absl::StatusOr<privacy::UserConsent> ReadUserConsent(
    const privacy::v1::SetUserConsentRequest& request);

}  // namespace ruvd::api
