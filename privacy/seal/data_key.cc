// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/seal/data_key.h"

#include <algorithm>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "privacy/seal/aead.h"
#include "privacy/seal/secret_slots.h"
#include "privacy/sodium.h"

namespace ruvd::privacy {

static_assert(kSecretSlotBytes == kSealKeyBytes);

DataKey DataKey::Generate() {
  std::shared_ptr<uint8_t> slot = NewSecretSlot();
  SecureRandomBytes({slot.get(), kSealKeyBytes});
  return DataKey(std::move(slot));
}

absl::StatusOr<DataKey> DataKey::FromBytes(std::span<const uint8_t> bytes) {
  if (bytes.size() != kSealKeyBytes) {
    return Error(absl::StatusCode::kDataLoss, reasons::kKeyInvalid,
                 "a data key must have {} bytes, not {}; restore the store from a backup",
                 kSealKeyBytes, bytes.size());
  }
  std::shared_ptr<uint8_t> slot = NewSecretSlot();
  std::ranges::copy(bytes, slot.get());
  return DataKey(std::move(slot));
}

void DataKey::AppendSealed(const SealContext& context, std::string_view plaintext,
                           std::string* out) const {
  seal::AppendSealed(slot_.get(), context, plaintext, out);
}

absl::StatusOr<std::string> DataKey::Open(const SealContext& context,
                                          std::string_view sealed) const {
  return seal::OpenSealed(slot_.get(), context, sealed);
}

}  // namespace ruvd::privacy
