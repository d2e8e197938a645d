// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace ruvd::node {

// DATA_DIR/evidence: proofs of members that equivocated, as GossipCore::Evidence gives them. They
// prove themselves, so the file needs no seal. Not thread-safe.
class EvidenceFile {
 public:
  explicit EvidenceFile(const std::string& data_dir);

  // The proofs, unchecked; none without a file. EVIDENCE_INVALID for what is no such file, and
  // errors of reading.
  absl::StatusOr<std::vector<std::string>> Load() const;
  // Replaces them durably.
  absl::Status Keep(const std::vector<std::string>& proofs) const;

 private:
  const std::string path_;
};

}  // namespace ruvd::node
