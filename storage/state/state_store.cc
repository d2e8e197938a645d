// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/state/state_store.h"

#include <google/protobuf/message_lite.h>

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include "base/reasons.h"
#include "base/sanitize_for_display.h"
#include "base/status.h"
#include "ruvd/storage/v1/state.pb.h"
#include "storage/db/row_key.h"
#include "storage/limits.h"
#include "storage/row_text.h"
#include "storage/state/state_rows.h"

namespace ruvd::storage {
namespace {

constexpr ColumnFamily kFamily = ColumnFamily::kState;
static_assert(std::in_range<int>(limits::kMaxStateBytes),
              "protobuf takes the size of a message as an int");

absl::Status CheckName(std::string_view name) {
  const bool printable =
      std::ranges::all_of(name, [](char byte) { return static_cast<unsigned char>(byte) >= 0x20; });
  if (!name.empty() && name.size() <= limits::kMaxStateNameBytes && printable) {
    return absl::OkStatus();
  }
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
               "'{}' cannot name a value of the state; a name has 1 to {} bytes and no control "
               "characters",
               SanitizeForDisplay(name), limits::kMaxStateNameBytes);
}

absl::Status Incomplete(std::string_view name) {
  return CorruptRow("the value " + SanitizeForDisplay(name) + " of the state is incomplete and");
}

size_t ChunksOf(size_t bytes) {
  return (bytes + limits::kMaxStateChunkBytes - 1) / limits::kMaxStateChunkBytes;
}

absl::StatusOr<v1::StateHead> ParseHead(std::string_view row, std::string_view name) {
  ASSIGN_OR_RETURN(v1::StateHead head, ParseRow<v1::StateHead>(row, "a row of the state"));
  return head.bytes() <= limits::kMaxStateBytes && head.chunks() == ChunksOf(head.bytes())
             ? absl::StatusOr<v1::StateHead>(std::move(head))
             : Incomplete(name);
}

// Joins the rows of a name, which arrive in the order of their keys.
class Joiner {
 public:
  explicit Joiner(std::string_view name) : name_(name) {}

  absl::StatusOr<bool> Add(const RowView& row) {
    const auto key = state_rows::ParseKey(row.key);
    if (!key) {
      return Incomplete(name_);
    }
    if (!key->chunk) {
      ASSIGN_OR_RETURN(head_, ParseHead(row.value, name_));
      bytes_.reserve(head_->bytes());
      return true;
    }
    if (!head_) {
      return false;  // the first write of this value did not end
    }
    if (key->chunk->epoch != head_->epoch()) {
      return true;  // another write did not end
    }
    if (key->chunk->chunk != next_++ || bytes_.size() + row.value.size() > head_->bytes()) {
      return Incomplete(name_);
    }
    bytes_.append(row.value);
    return true;
  }

  absl::StatusOr<std::optional<std::string>> Take() {
    if (!head_) {
      return std::nullopt;
    }
    if (next_ != head_->chunks() || bytes_.size() != head_->bytes()) {
      return Incomplete(name_);
    }
    return std::move(bytes_);
  }

 private:
  const std::string_view name_;
  std::optional<v1::StateHead> head_;
  uint32_t next_ = 0;
  std::string bytes_;
};

}  // namespace

class StateStore::Turn {
 public:
  Turn(StateStore& store, std::string_view name) : store_(store), name_(name) {
    const MutexLock lock(store_.mutex_);
    while (!store_.writing_.emplace(name_).second) {
      store_.turn_ended_.Wait(store_.mutex_);
    }
  }
  ~Turn() {
    const MutexLock lock(store_.mutex_);
    store_.writing_.erase(name_);
    store_.turn_ended_.NotifyAll();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  StateStore& store_;
  const std::string name_;
};

absl::StatusOr<std::optional<std::string>> StateStore::ReadBytes(std::string_view name) const {
  RETURN_IF_ERROR(CheckName(name));
  Joiner joiner(name);
  // A scan sees head and chunks as they were at one moment.
  RETURN_IF_ERROR(database_.Scan(kFamily, state_rows::HeadKey(name), state_rows::EndOfName(name),
                                 [&](const RowView& row) { return joiner.Add(row); }));
  return joiner.Take();
}

absl::StatusOr<bool> StateStore::Read(std::string_view name,
                                      google::protobuf::MessageLite* message) const {
  ASSIGN_OR_RETURN(const std::optional<std::string> bytes, ReadBytes(name));
  if (!bytes) {
    return false;
  }
  if (!message->ParseFromArray(bytes->data(), static_cast<int>(bytes->size()))) {
    return CorruptRow("the value " + SanitizeForDisplay(name) + " of the state");
  }
  return true;
}

absl::StatusOr<bool> StateStore::HasHead(std::string_view name) const {
  RETURN_IF_ERROR(CheckName(name));
  return database_.Contains(kFamily, state_rows::HeadKey(name));
}

absl::StatusOr<uint64_t> StateStore::NextEpoch(std::string_view name) const {
  uint64_t last = 0;
  const auto look = [&](std::string_view key) -> absl::StatusOr<bool> {
    const auto parsed = state_rows::ParseKey(key);
    if (!parsed) {
      return true;  // the check of the store reports it
    }
    last = parsed->chunk ? parsed->chunk->epoch : 0;
    return false;
  };
  RETURN_IF_ERROR(database_.ScanBackward(
      kFamily, state_rows::HeadKey(name), state_rows::EndOfName(name),
      [&](const RowView& row) { return look(row.key); }, look));
  const absl::StatusOr<std::string> row = database_.Get(kFamily, state_rows::HeadKey(name));
  if (row.ok()) {
    v1::StateHead head;
    // A damaged head is replaced, and no chunk of its epoch is above the last one.
    if (head.ParseFromString(*row)) {
      last = std::max<uint64_t>(last, head.epoch());
    }
  } else if (!absl::IsNotFound(row.status()) && !absl::IsDataLoss(row.status())) {
    return row.status();
  }
  return last + 1;
}

absl::Status StateStore::Write(std::string_view name,
                               const google::protobuf::MessageLite& message) {
  RETURN_IF_ERROR(CheckName(name));
  const size_t size = message.ByteSizeLong();
  if (size > limits::kMaxStateBytes) {
    return Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
                 "the value {} of the state has {} bytes, but at most {} can be stored",
                 SanitizeForDisplay(name), size, limits::kMaxStateBytes);
  }
  const std::string bytes = message.SerializeAsString();
  const Turn turn(*this, name);
  RETURN_IF_ERROR(database_.CheckSpace(bytes.size()));
  absl::Status written = WriteRows(name, bytes);
  if (!written.ok()) {
    // What was written of it would take space, and that may be why it was refused.
    (void)RemoveUnfinishedOf(name);
  }
  return written;
}

absl::Status StateStore::WriteRows(std::string_view name, std::string_view bytes) {
  ASSIGN_OR_RETURN(const uint64_t epoch, NextEpoch(name));
  Batch batch;
  size_t in_batch = 0;
  const size_t chunks = ChunksOf(bytes.size());
  for (size_t i = 0; i < chunks; ++i) {
    const std::string_view chunk =
        bytes.substr(i * limits::kMaxStateChunkBytes, limits::kMaxStateChunkBytes);
    if (in_batch + chunk.size() > limits::kStateBatchBytes) {
      // The last batch fsyncs the log with all batches before it.
      RETURN_IF_ERROR(database_.Write(std::exchange(batch, {}), Durability::kProcessCrash));
      in_batch = 0;
    }
    batch.Put(kFamily, state_rows::ChunkKey(name, epoch, static_cast<uint32_t>(i)), chunk);
    in_batch += chunk.size();
  }
  v1::StateHead head;
  head.set_epoch(epoch);
  head.set_chunks(static_cast<uint32_t>(chunks));
  head.set_bytes(bytes.size());
  batch.DeleteRange(kFamily, state_rows::ChunkKey(name, 0, 0),
                    state_rows::ChunkKey(name, epoch, 0));
  batch.Put(kFamily, state_rows::HeadKey(name), head.SerializeAsString());
  return database_.Write(std::move(batch), Durability::kPowerLoss);
}

absl::Status StateStore::Remove(std::string_view name) {
  RETURN_IF_ERROR(CheckName(name));
  const Turn turn(*this, name);
  Batch batch;
  batch.MarkFreesSpace();
  batch.DeleteRange(kFamily, state_rows::HeadKey(name), state_rows::EndOfName(name));
  return database_.Write(std::move(batch), Durability::kPowerLoss);
}

absl::Status StateStore::ForEachName(
    std::string_view prefix,
    const std::function<void(std::string_view name, bool complete)>& show) const {
  std::string start(prefix);
  const std::string end = EndOfPrefix(prefix);
  for (bool more = true; more;) {
    more = false;
    // Looks at the first row of the next name only, because chunks are large.
    const auto look = [&](std::string_view key) -> absl::StatusOr<bool> {
      const auto parsed = state_rows::ParseKey(key);
      if (!parsed) {
        return true;  // the check of the store reports it
      }
      show(parsed->name, !parsed->chunk);
      start = state_rows::EndOfName(parsed->name);
      more = true;
      return false;
    };
    RETURN_IF_ERROR(database_.Scan(
        kFamily, start, end, [&](const RowView& row) { return look(row.key); }, look));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> StateStore::Names(std::string_view prefix) const {
  std::vector<std::string> names;
  RETURN_IF_ERROR(ForEachName(prefix, [&names](std::string_view name, bool complete) {
    if (complete) {
      names.emplace_back(name);
    }
  }));
  return names;
}

absl::StatusOr<std::vector<uint32_t>> StateStore::Numbers(std::string_view prefix) const {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, Names(prefix));
  std::vector<uint32_t> numbers;
  for (const std::string& name : names) {
    uint32_t number = 0;
    const char* const end = name.data() + name.size();
    const auto [read, error] = std::from_chars(name.data() + prefix.size(), end, number);
    if (error == std::errc() && read == end) {
      numbers.push_back(number);
    }
  }
  std::ranges::sort(numbers);
  return numbers;
}

absl::Status StateStore::RemoveUnfinishedOf(std::string_view name) {
  uint64_t epoch = 0;  // no chunk has epoch 0
  const absl::StatusOr<std::string> row = database_.Get(kFamily, state_rows::HeadKey(name));
  if (row.ok()) {
    ASSIGN_OR_RETURN(const v1::StateHead head, ParseRow<v1::StateHead>(*row, "a row of the state"));
    epoch = head.epoch();
  } else if (!absl::IsNotFound(row.status())) {
    return row.status();
  }
  ASSIGN_OR_RETURN(const uint64_t next, NextEpoch(name));
  if (next <= epoch + 1) {
    return absl::OkStatus();
  }
  Batch batch;
  batch.MarkFreesSpace();
  batch.DeleteRange(kFamily, state_rows::ChunkKey(name, epoch + 1, 0), state_rows::EndOfName(name));
  return database_.Write(std::move(batch), Durability::kProcessCrash);
}

absl::Status StateStore::RemoveUnfinished() {
  std::vector<std::string> names;
  RETURN_IF_ERROR(ForEachName(
      "", [&names](std::string_view name, bool /*complete*/) { names.emplace_back(name); }));
  absl::Status status;
  for (const std::string& name : names) {
    const Turn turn(*this, name);
    status.Update(RemoveUnfinishedOf(name));  // a damaged value must not keep others from it
  }
  return status;
}

absl::Status StateStore::Check(std::string_view name) const {
  ASSIGN_OR_RETURN(const std::optional<std::string> bytes, ReadBytes(name));
  if (!bytes) {
    return Error(absl::StatusCode::kNotFound, reasons::kNotFound,
                 "there is no value {} in the state", SanitizeForDisplay(name));
  }
  return state::CheckValue(name, *bytes);
}

}  // namespace ruvd::storage
