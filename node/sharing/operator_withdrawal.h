// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <atomic>
#include <optional>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "privacy/consent/consent.h"
#include "privacy/identity/node_key.h"
#include "ruvd/privacy/v1/privacy.pb.h"
#include "storage/consent/consent_store.h"

namespace ruvd::sharing {

// How the operator withdraws the consent to sharing while the federation does not run. It outlives
// the federation actor, so that no restart of the actor alone brings the consent back. Thread-safe.
class OperatorWithdrawal {
 public:
  // Everything is borrowed.
  OperatorWithdrawal(storage::ConsentStore& consent, const privacy::NodeKey& key,
                     const Clock& clock)
      : consent_(consent), key_(key), clock_(clock) {}

  // Stores that nothing may leave the node; the federation obeys once it runs. Waits for the disk.
  // Returns the answer to the operator. After an error of ConsentStore::Set the withdrawal holds
  // until the node ends.
  absl::StatusOr<privacy::v1::SetConsentResponse> Store();

  // Returns the consent under which the federation starts. nullopt: nothing may be shared, because
  // no consent was given, a withdrawal could still not be stored, or a restore suspended the
  // consent; the latter two are logged. The caller verifies the signature. Returns an error of
  // ConsentStore.
  absl::StatusOr<std::optional<privacy::ConsentRecord>> LoadConsent();

  // Asks the federation to withdraw what it offers at its next tick, whatever fills its mailbox.
  void Request() { requested_.store(true); }
  // Returns whether there was a request since the last call.
  bool TakeRequest() { return requested_.exchange(false); }

  // Notes whether there is a withdrawal that the disk refused to store.
  void SetUnstored(bool unstored) { unstored_.store(unstored); }

 private:
  storage::ConsentStore& consent_;
  const privacy::NodeKey& key_;
  const Clock& clock_;
  std::atomic<bool> unstored_{false};
  std::atomic<bool> requested_{false};
};

}  // namespace ruvd::sharing
