// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace ruvd::node {

// The file DATA_DIR/evidence with proofs of members that equivocated, as GossipCore::Evidence
// returns them. The proofs are signed, so the file needs no seal. Not thread-safe.
class EvidenceFile {
 public:
  explicit EvidenceFile(const std::string& data_dir);

  // Returns the proofs, unchecked; an empty list if there is no file. Returns EVIDENCE_INVALID if
  // the file is damaged, and errors of reading.
  absl::StatusOr<std::vector<std::string>> Load() const;
  // Replaces the proofs and fsyncs the file.
  absl::Status Keep(const std::vector<std::string>& proofs) const;

 private:
  const std::string path_;
};

}  // namespace ruvd::node
