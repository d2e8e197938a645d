// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "node/admission/admission_office.h"
#include "privacy/identity/admission.h"
#include "privacy/identity/node_key.h"

namespace ruvd::admission {

struct CertificateKeeperOptions {
  std::string path;                                              // of the certificate's file
  std::function<absl::StatusOr<privacy::AdmissionCert>()> load;  // reads and checks it
  const privacy::NodeKey* key = nullptr;
  const Clock* clock = nullptr;
  AdmissionOffice* office = nullptr;   // null: the authority's key is elsewhere
  std::vector<std::string> addresses;  // where the authority may answer, ports of peers
  // Asks whoever answers at an address for a certificate in place of one (RenewAt).
  std::function<absl::StatusOr<privacy::AdmissionCert>(const std::string& address,
                                                       const privacy::AdmissionCert&)>
      renew;
  std::function<void(const privacy::AdmissionCert&)> take;  // hears of a newer certificate
  std::function<bool()> stopped;                            // no further address is asked then
};

// Keeps a running node's admission certificate good: takes one that the operator put in its place,
// and asks the authority for a new one when less than a third of its life is left. Borrows what the
// options point to. Not thread-safe: call it from one thread at a time.
class CertificateKeeper {
 public:
  CertificateKeeper(CertificateKeeperOptions options, privacy::AdmissionCert present)
      : options_(std::move(options)), present_(std::move(present)) {}

  // Looks once; waits for the disk and for `renew` at one address after the other, until `stopped`.
  // An error where the operator's file, or what was given, is of another key, name or cluster than
  // the one in use, which stays; and where a certificate is due that could not be had: what the
  // authority says, else why an address could not be reached, else that those who answer are not
  // the authority; errors of writing (it is in use then, and would not outlive a restart). Each
  // with when the present one ends.
  absl::Status Look();

  const privacy::AdmissionCert& present() const { return present_; }

 private:
  absl::StatusOr<privacy::AdmissionCert> Renewed() const;
  absl::Status CheckSameMember(const privacy::AdmissionCert& certificate,
                               const std::string& where) const;

  const CertificateKeeperOptions options_;
  privacy::AdmissionCert present_;
};

}  // namespace ruvd::admission
