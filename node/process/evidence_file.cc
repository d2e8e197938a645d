// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/process/evidence_file.h"

#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "federation/limits.h"
#include "federation/membership/evidence.h"
#include "privacy/reasons.h"

namespace ruvd::node {
namespace {

constexpr std::string_view kEvidenceMagic("RUVDLLM-EVIDENCE-v1\0", 20);
constexpr size_t kProofBytes = federation::EvidenceTable::kStoredBytes;

}  // namespace

EvidenceFile::EvidenceFile(const std::string& data_dir)
    : path_(std::filesystem::path(data_dir) / "evidence") {}

absl::StatusOr<std::vector<std::string>> EvidenceFile::Load() const {
  std::error_code error;
  if (!std::filesystem::exists(path_, error) && !error) {
    return std::vector<std::string>();
  }
  ASSIGN_OR_RETURN(const std::string bytes,
                   ReadFile(path_, kEvidenceMagic.size() + limits::kMaxEvidence * kProofBytes));
  if (!bytes.starts_with(kEvidenceMagic) || (bytes.size() - kEvidenceMagic.size()) % kProofBytes) {
    return Error(absl::StatusCode::kDataLoss, reasons::kEvidenceInvalid,
                 "{} is damaged; delete it, and peers will send its contents again", path_);
  }
  std::vector<std::string> proofs;
  for (size_t at = kEvidenceMagic.size(); at < bytes.size(); at += kProofBytes) {
    proofs.push_back(bytes.substr(at, kProofBytes));
  }
  return proofs;
}

absl::Status EvidenceFile::Keep(const std::vector<std::string>& proofs) const {
  std::string bytes(kEvidenceMagic);
  for (const std::string& proof : proofs) {
    bytes += proof;
  }
  return WriteFileAtomically(path_, bytes);
}

}  // namespace ruvd::node
