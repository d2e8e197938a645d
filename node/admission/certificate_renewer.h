// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "node/admission/admission_controller.h"
#include "privacy/identity/admission.h"
#include "privacy/identity/node_key.h"

namespace ruvd::admission {

struct CertificateRenewerOptions {
  std::string path;                                              // path of the certificate's file
  std::function<absl::StatusOr<privacy::AdmissionCert>()> load;  // reads and checks it
  const privacy::NodeKey* key = nullptr;
  const Clock* clock = nullptr;
  AdmissionController* office = nullptr;  // null: another node holds the authority's key
  std::vector<std::string> addresses;  // addresses of link services where the authority may answer
  // Asks the node at an address for a certificate that replaces the given one (RenewAt).
  std::function<absl::StatusOr<privacy::AdmissionCert>(const std::string& address,
                                                       const privacy::AdmissionCert&)>
      renew;
  std::function<void(const privacy::AdmissionCert&)> take;  // is called with a newer certificate
  std::function<bool()> stopped;                            // if true, no further address is asked
};

// Keeps a running node's admission certificate valid: it uses a new certificate that the operator
// put into the file, and asks the authority for a new one when less than a third of the
// certificate's life is left. It borrows the objects in the options. Not thread-safe: call it from
// one thread at a time.
class CertificateRenewer {
 public:
  CertificateRenewer(CertificateRenewerOptions options, privacy::AdmissionCert present)
      : options_(std::move(options)), present_(std::move(present)) {}

  // Checks once. It waits for the disk and for `renew`, one address after the other, until
  // `stopped`. Returns an error if the operator's file or the authority's answer has another key,
  // name or cluster than the certificate in use, which then stays in use. If a due certificate
  // could not be renewed, the error is the authority's refusal; else the reason why an address
  // could not be reached; else that the answering nodes are not the authority. After an error of
  // writing the new certificate is in use but would be lost at a restart. Every error says when the
  // present certificate ends.
  absl::Status CheckCertificate();

  const privacy::AdmissionCert& present() const { return present_; }

 private:
  absl::StatusOr<privacy::AdmissionCert> RequestRenewal() const;
  absl::Status CheckSameMember(const privacy::AdmissionCert& certificate,
                               const std::string& where) const;

  const CertificateRenewerOptions options_;
  privacy::AdmissionCert present_;
};

}  // namespace ruvd::admission
