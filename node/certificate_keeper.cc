// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/certificate_keeper.h"

#include <fmt/format.h>

#include <utility>

#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/cli/join.h"
#include "node/limits.h"
#include "privacy/identity/certificate_renewal.h"
#include "privacy/reasons.h"

namespace ruvd {

absl::StatusOr<AdmissionCert> CertificateKeeper::Renewed() const {
  if (options_.office != nullptr) {
    return options_.office->RenewOwn(present_, *options_.key);
  }
  absl::Status last = Error(absl::StatusCode::kFailedPrecondition, reasons::kNotFound,
                            "federation.seeds names no address to ask");
  bool first = true;
  for (const std::string& address : options_.addresses) {
    if (options_.stopped()) {
      return last;
    }
    auto renewed =
        RenewAt(address, present_, *options_.key, limits::kRenewalPatience, *options_.clock);
    if (renewed.ok()) {
      return renewed;
    }
    // What the authority says counts more than that others are none.
    if (std::exchange(first, false) || ReasonOf(renewed.status()) != reasons::kNotFound) {
      last = renewed.status();
    }
  }
  return last;
}

absl::Status CertificateKeeper::Look() {
  absl::Status placed;  // what is wrong with the file
  if (const auto stored = options_.load();
      stored.ok() && stored->not_after_ms > present_.not_after_ms) {
    if (stored->node_key == present_.node_key && stored->name == present_.name &&
        stored->issuer == present_.issuer) {
      present_ = *stored;
      options_.take(present_);
    } else {
      placed = Error(absl::StatusCode::kFailedPrecondition, reasons::kCertificateInvalid,
                     "{} is of {} and another key, name or cluster than the certificate in use; "
                     "restart the node to become that member",
                     options_.path, stored->name);
    }
  }
  const int64_t now_ms = options_.clock->WallMillis();
  if (!RenewalDue(present_, now_ms) || !placed.ok()) {
    return placed;  // what the operator put there is not written over
  }
  const absl::StatusOr<AdmissionCert> renewed = Renewed();
  if (!renewed.ok()) {
    return Annotate(renewed.status(),
                    fmt::format("this node's certificate is good for {:.1f} h more and could not "
                                "be renewed (`ruvd cert renew` does it by hand)",
                                static_cast<double>(present_.not_after_ms - now_ms) / 3.6e6));
  }
  present_ = *renewed;
  options_.take(present_);
  return WriteFileAtomically(options_.path, present_.Encode());
}

}  // namespace ruvd
