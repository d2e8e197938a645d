// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/changes/change_rows.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/status.h"
#include "ruvd/storage/v1/change.pb.h"
#include "storage/db/row_key.h"
#include "storage/limits.h"
#include "storage/patterns/pattern_rows.h"
#include "storage/row_text.h"

namespace ruvd::storage::changes {
namespace {

constexpr size_t kPrefixBytes = 2;
constexpr char kChangeRow[] = "a row of a change that learning made";
constexpr char kImageRow[] = "a row of a pattern before a change";

// Reads an optional id: empty bytes mean no id. Returns false for a length that is not that of an
// id.
bool ReadId(const std::string& bytes, std::optional<PatternId>* id) {
  if (bytes.empty()) {
    id->reset();
    return true;
  }
  if (bytes.size() != sizeof(PatternId)) {
    return false;
  }
  std::ranges::copy(bytes, id->emplace().begin());
  return true;
}

std::string IdBytes(const std::optional<PatternId>& id) {
  return id ? std::string(AsText(*id)) : std::string();
}

template <typename Enum>
bool InRange(uint32_t value, Enum first, Enum last) {
  return value >= static_cast<uint32_t>(first) && value <= static_cast<uint32_t>(last);
}

}  // namespace

std::string ChangeKey(uint64_t number) {
  return RowKey().Text(kChangePrefix).U64(number).Take();
}

std::string ImageKey(uint64_t number, uint32_t index) {
  return RowKey().Text(kImagePrefix).U64(number).U32(index).Take();
}

std::string AnswerKey(const Digest& key) {
  return RowKey().Text(kAnswerPrefix).Bytes(key).Take();
}

std::string AnswerOrderKey(uint64_t number) {
  return RowKey().Text(kAnswerOrderPrefix).U64(number).Take();
}

std::optional<uint64_t> NumberOfKey(std::string_view key) {
  return ReadKeyU64(key, kPrefixBytes);
}

std::string EncodeChange(const LearningChange& change) {
  v1::LearningChange row;
  row.set_mark(change.mark);
  row.set_created_ms(change.created_ms);
  row.set_loop(static_cast<uint32_t>(change.loop));
  row.set_kind(static_cast<uint32_t>(change.kind));
  for (const std::string& response : change.responses) {
    row.add_responses(response);
  }
  row.set_on_demand(change.on_demand);
  row.set_user_id(change.user_id);
  row.set_session_id(change.session_id);
  row.set_pattern_id(IdBytes(change.pattern));
  row.set_merged_pattern_id(IdBytes(change.merged));
  row.set_adapter_name(change.adapter_name);
  row.set_version_before(change.version_before);
  row.set_version(change.version);
  row.set_lessons(change.lessons);
  row.set_undone_ms(change.undone_ms);
  row.set_images(change.images);
  row.set_image_bytes(change.image_bytes);
  row.set_package_id(std::string(AsText(change.package_id)));
  return row.SerializeAsString();
}

absl::StatusOr<LearningChange> DecodeChange(std::string_view bytes, uint64_t number) {
  ASSIGN_OR_RETURN(const auto row, ParseRow<v1::LearningChange>(bytes, kChangeRow));
  LearningChange change{.number = number,
                        .mark = row.mark(),
                        .created_ms = row.created_ms(),
                        .responses = {row.responses().begin(), row.responses().end()},
                        .on_demand = row.on_demand(),
                        .user_id = row.user_id(),
                        .session_id = row.session_id(),
                        .adapter_name = row.adapter_name(),
                        .version_before = row.version_before(),
                        .version = row.version(),
                        .lessons = row.lessons(),
                        .undone_ms = row.undone_ms(),
                        .images = row.images(),
                        .image_bytes = row.image_bytes()};
  if (!row.package_id().empty() && row.package_id().size() != change.package_id.size()) {
    return CorruptRow(kChangeRow);
  }
  std::ranges::copy(row.package_id(), change.package_id.begin());
  if (!InRange(row.loop(), LearningLoop::kInstant, LearningLoop::kDeep) ||
      !InRange(row.kind(), ChangeKind::kSessionTaught, ChangeKind::kLessonRemembered) ||
      !ReadId(row.pattern_id(), &change.pattern) ||
      !ReadId(row.merged_pattern_id(), &change.merged) ||
      change.responses.size() > limits::kMaxChangeResponses ||
      change.images > limits::kMaxChangeImages) {
    return CorruptRow(kChangeRow);
  }
  change.loop = static_cast<LearningLoop>(row.loop());
  change.kind = static_cast<ChangeKind>(row.kind());
  return change;
}

std::string EncodeImage(const PatternImage& image) {
  v1::PatternImage row;
  row.set_pattern_id(std::string(AsText(image.id)));
  if (image.before) {
    row.set_existed(true);
    row.set_meta(patterns::EncodeMetaRow({.pattern = *image.before}));
    row.set_vec(patterns::EncodeVecRow(image.before->embedding));
    row.set_dimension(static_cast<uint32_t>(image.before->embedding.size()));
    row.set_payload(image.before->payload);
  }
  return row.SerializeAsString();
}

absl::StatusOr<PatternImage> DecodeImage(std::string_view bytes) {
  ASSIGN_OR_RETURN(auto row, ParseRow<v1::PatternImage>(bytes, kImageRow));
  std::optional<PatternId> id;
  if (!ReadId(row.pattern_id(), &id) || !id) {
    return CorruptRow(kImageRow);
  }
  PatternImage image{.id = *id, .before = std::nullopt};
  if (!row.existed()) {
    return image;
  }
  if (row.dimension() > limits::kMaxDimension) {
    return CorruptRow(kImageRow);
  }
  ASSIGN_OR_RETURN(patterns::MetaRow meta, patterns::DecodeMetaRow(row.meta(), *id));
  ASSIGN_OR_RETURN(meta.pattern.embedding, patterns::DecodeVecRow(row.vec(), row.dimension()));
  meta.pattern.payload = std::move(*row.mutable_payload());
  image.before = std::move(meta.pattern);
  return image;
}

}  // namespace ruvd::storage::changes
