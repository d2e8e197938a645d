// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "federation/patterns/shared_expert.h"
#include "node/learning/learning_services.h"
#include "privacy/consent/user_consent.h"

namespace ruvd::sharing {

// What this node can offer as its expert, and the people whose lessons are in it.
struct OwnExpert {
  federation::SharedExpert expert;
  std::vector<privacy::Contributor> contributors;  // each once
};

// Returns the served version of this node's deep adapter with the words of its lessons, rounded to
// half precision, as it may leave under the tier `public`. All lessons that are in it must still be
// there, and their users must allow it: weights tell something about each of them. Belongs on the
// learning thread.
//
// Returns NOT_FOUND without such an adapter, FAILED_PRECONDITION (CONSENT_MISSING) if some of its
// lessons may not leave or are not known, LIMIT_EXCEEDED if it is larger than a payload may be,
// CANCELLED and the errors of the stores.
absl::StatusOr<OwnExpert> MakeOwnExpert(const learning::LearningServices& services,
                                        float min_rating);

}  // namespace ruvd::sharing
