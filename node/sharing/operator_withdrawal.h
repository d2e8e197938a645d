// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <atomic>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "privacy/identity/node_key.h"
#include "ruvd/admin/v1/admin.pb.h"
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
  absl::StatusOr<admin::v1::SetConsentResponse> Store();

  // Whether there is a withdrawal that the disk refused to store.
  bool unstored() const { return unstored_.load(); }
  void SetUnstored(bool unstored) { unstored_.store(unstored); }

 private:
  storage::ConsentStore& consent_;
  const privacy::NodeKey& key_;
  const Clock& clock_;
  std::atomic<bool> unstored_{false};
};

}  // namespace ruvd::sharing
