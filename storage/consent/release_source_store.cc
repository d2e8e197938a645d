// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/consent/release_source_store.h"

#include <cstring>
#include <string>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "ruvd/storage/v1/storage.pb.h"
#include "storage/consent/consent_rows.h"
#include "storage/db/row_key.h"

namespace ruvd::storage {
namespace {

std::string ReleaseKey(const Digest& item) {
  return std::string(consent_rows::kReleasePrefix).append(AsText(item));
}

std::string EncodeSources(const ReleaseSources& sources) {
  v1::ReleaseSources row;
  row.set_created_ms(sources.created_ms);
  for (const privacy::Contributor& contributor : sources.contributors) {
    auto* const one = row.add_contributors();
    one->set_user(contributor.user);
    one->set_session(contributor.session);
  }
  return row.SerializeAsString();
}

absl::Status Corrupt() {
  return Error(absl::StatusCode::kDataLoss, reasons::kStoreCorrupt,
               "the contributors of an item do not decode; the item is withdrawn at the next start");
}

absl::StatusOr<ReleaseSources> DecodeSources(std::string_view key, std::string_view value) {
  v1::ReleaseSources row;
  ReleaseSources sources;
  const size_t prefix = std::string_view(consent_rows::kReleasePrefix).size();
  if (key.size() != prefix + sources.item.size() ||
      !row.ParseFromArray(value.data(), static_cast<int>(value.size()))) {
    return Corrupt();
  }
  std::memcpy(sources.item.data(), key.data() + prefix, sources.item.size());
  sources.created_ms = row.created_ms();
  for (const auto& contributor : row.contributors()) {
    sources.contributors.push_back({.user = contributor.user(), .session = contributor.session()});
  }
  return sources;
}

}  // namespace

absl::Status CheckReleaseSourceRow(std::string_view key, std::string_view value) {
  return DecodeSources(key, value).status();
}

absl::StatusOr<std::vector<ReleaseSources>> ReleaseSourceStore::All() const {
  std::vector<ReleaseSources> all;
  const auto read = [&all](const RowView& view) -> absl::StatusOr<bool> {
    if (absl::StatusOr<ReleaseSources> sources = DecodeSources(view.key, view.value);
        sources.ok()) {
      all.push_back(*std::move(sources));
    }
    return true;
  };
  RETURN_IF_ERROR(database_.Scan(ColumnFamily::kConsent, consent_rows::kReleasePrefix,
                                 EndOfPrefix(consent_rows::kReleasePrefix), read,
                                 [](std::string_view) -> absl::StatusOr<bool> { return true; }));
  return all;
}

absl::Status ReleaseSourceStore::Put(const ReleaseSources& sources) {
  Batch batch;
  batch.Put(ColumnFamily::kConsent, ReleaseKey(sources.item), EncodeSources(sources));
  return database_.Write(std::move(batch), Durability::kPowerLoss);
}

absl::Status ReleaseSourceStore::Delete(std::span<const Digest> items) {
  Batch batch;
  batch.MarkFreesSpace();
  for (const Digest& item : items) {
    batch.Delete(ColumnFamily::kConsent, ReleaseKey(item));
  }
  return items.empty() ? absl::OkStatus()
                       : database_.Write(std::move(batch), Durability::kProcessCrash);
}

}  // namespace ruvd::storage
