// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "privacy/identity/admission.h"
#include "privacy/identity/issuer_cert.h"

namespace ruvd::admission {

// Names of the files of a cluster's authority. The node that admits others needs the first two; the
// root's key is needed only to make the next issuer, and is safest away from every node.
inline constexpr char kAuthorityKeyFile[] = "authority.key";
inline constexpr char kIssuerFile[] = "authority.cert";  // the root's statement about that key
inline constexpr char kRootKeyFile[] = "root.key";

// Returns the root of the cluster whose authority's files are in a folder; nullopt if it has
// no such file. Errors: those of reading the files, and KEY_INVALID if the root's statement is
// missing and cannot be made.
absl::StatusOr<std::optional<privacy::PublicKey>> RootIn(const std::string& folder);

// Founds a cluster: makes the root's key, the first issuer's and the statement about it, where they
// are missing, so that it completes what a crash has cut off. Returns the errors of
// SigningKey::LoadOrCreate, of ClusterAuthority::Load and of writing.
absl::StatusOr<privacy::ClusterAuthority> FoundAuthority(const std::string& folder, int days,
                                                         const Clock& clock);

struct NextIssuer {
  std::string root_key;      // the file of the root's key
  std::string former;        // the file of the statement about the present issuer
  std::string folder;        // gets the key and the statement of the next one
  int days = 365;            // how long it is good
  bool ends_former = false;  // what the present one signed counts no more
};
// Makes the next issuer of a cluster, whose number is above those of `former` and of the last one
// that was made with this file of the root's key (a file of that name and ".last"). Errors: those
// of reading and writing the files; CERTIFICATE_FOREIGN if the root's key is of another cluster;
// FILE_UNWRITABLE if the folder has an authority.
absl::StatusOr<privacy::IssuerCert> MakeNextIssuer(const NextIssuer& next, const Clock& clock);

}  // namespace ruvd::admission
