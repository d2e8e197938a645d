// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/campaign/workload.h"

#include <algorithm>
#include <array>

#include "base/bytes.h"
#include "base/random.h"
#include "storage/db/row_key.h"

namespace ruvd::campaign {
namespace {

constexpr std::array kFamilies = {storage::ColumnFamily::kMeta, storage::ColumnFamily::kVec,
                                  storage::ColumnFamily::kPayload, storage::ColumnFamily::kSession};
constexpr uint64_t kKeysPerWriter = 48;
constexpr size_t kSmallValue = 600;
constexpr size_t kLargeValue = 12'000;  // in blob files

Random RandomOf(uint64_t seed, int writer, uint64_t n, uint64_t purpose) {
  return Random(seed * 1'000'003 + static_cast<uint64_t>(writer) * 7'919 + n * 104'729 + purpose);
}

std::string Prefix(int writer) {
  return storage::RowKey().U32(static_cast<uint32_t>(writer)).Take();
}

std::string KeyOf(int writer, uint64_t index) {
  return storage::RowKey()
      .U32(static_cast<uint32_t>(writer))
      .U32(static_cast<uint32_t>(index))
      .Take();
}

std::string Describe(storage::ColumnFamily family, std::string_view key, std::string_view what) {
  return std::string(storage::InfoOf(family).name) + "/" + ToHex(AsBytes(key)) + ": " +
         std::string(what);
}

void Complain(Verdict* verdict, const std::string& text) {
  ++verdict->wrong;
  if (verdict->example.empty()) {
    verdict->example = text;
  }
}

// See CheckReads.
void CheckRead(const storage::Database& database, const Model& model, const Model::Row& row,
               bool loss_reported, Verdict* verdict) {
  const auto& [family, key] = row;
  const auto expected = model.rows().find(row);
  const bool exists = expected != model.rows().end();
  const absl::StatusOr<std::string> value = database.Get(family, key);
  const auto is = [&, family = family](uint64_t n) {
    return *value == ValueOf(model.seed(), model.writer(), n, family);
  };
  if (!value.ok()) {
    const bool missing = absl::IsNotFound(value.status());
    verdict->errors += missing ? 0 : 1;
    if (missing && exists && !loss_reported) {
      Complain(verdict, Describe(family, key, "is missing without an error"));
    }
  } else if (loss_reported) {
    if (!std::ranges::any_of(model.WritesOf(row), is)) {
      Complain(verdict, Describe(family, key, "reads a value that was never written to it"));
    }
  } else if (!exists || !is(expected->second)) {
    Complain(verdict, Describe(family, key, "reads a wrong value"));
  }
}

}  // namespace

std::string ValueOf(uint64_t seed, int writer, uint64_t n, storage::ColumnFamily family) {
  Random random = RandomOf(seed, writer, n, 1 + static_cast<uint64_t>(family));
  const size_t size =
      1 + random.Below(family == storage::ColumnFamily::kPayload ? kLargeValue : kSmallValue);
  std::string value(size, '\0');
  for (char& byte : value) {
    byte = static_cast<char>(random.Next());
  }
  return value;
}

Change MakeChange(uint64_t seed, int writer, uint64_t n) {
  Random random = RandomOf(seed, writer, n, 0);
  Change change;
  const size_t first = random.Below(kFamilies.size());
  const size_t second = (first + 1 + random.Below(kFamilies.size() - 1)) % kFamilies.size();
  for (const size_t index : {first, second}) {
    change.puts.emplace_back(kFamilies[index], KeyOf(writer, random.Below(kKeysPerWriter)));
  }
  if (random.Bernoulli(0.2)) {
    const size_t family = random.Below(kFamilies.size());
    change.deletes.emplace_back(kFamilies[family], KeyOf(writer, random.Below(kKeysPerWriter)));
  }
  if (random.Bernoulli(0.3)) {
    change.scope = storage::KeyScope::User("writer" + std::to_string(writer));
  }
  return change;
}

storage::Batch BatchOf(uint64_t seed, int writer, uint64_t n) {
  const Change change = MakeChange(seed, writer, n);
  storage::Batch batch;
  for (const auto& [family, key] : change.puts) {
    batch.Put(family, key, ValueOf(seed, writer, n, family), 0,
              change.scope.value_or(storage::KeyScope()));
  }
  for (const auto& [family, key] : change.deletes) {
    batch.Delete(family, key);
  }
  batch.Put(storage::ColumnFamily::kOplog, Prefix(writer), ByteWriter().Write(n).Take());
  return batch;
}

void Model::AdvanceTo(uint64_t n) {
  while (n_ < n) {
    ++n_;
    const Change change = MakeChange(seed_, writer_, n_);
    for (const auto& row : change.puts) {
      rows_[row] = n_;
      history_[row].push_back(n_);
    }
    for (const auto& row : change.deletes) {
      rows_.erase(row);
    }
  }
}

std::span<const uint64_t> Model::WritesOf(const Row& row) const {
  const auto found = history_.find(row);
  return found == history_.end() ? std::span<const uint64_t>() : found->second;
}

absl::StatusOr<uint64_t> CountOf(const storage::Database& database, int writer) {
  const absl::StatusOr<std::string> row =
      database.Get(storage::ColumnFamily::kOplog, Prefix(writer));
  if (absl::IsNotFound(row.status())) {
    return 0;
  }
  RETURN_IF_ERROR(row.status());
  return ByteReader(AsBytes(*row)).Read<uint64_t>().value_or(0);
}

absl::StatusOr<Verdict> Check(const storage::Database& database, uint64_t seed) {
  Verdict verdict;
  for (int writer = 0; writer < kWriters; ++writer) {
    ASSIGN_OR_RETURN(const uint64_t count, CountOf(database, writer));
    verdict.counts.push_back(count);
    Model model(seed, writer);
    model.AdvanceTo(count);
    Model::Rows expected = model.rows();
    for (const storage::ColumnFamily family : kFamilies) {
      RETURN_IF_ERROR(
          database.Scan(family, Prefix(writer), storage::EndOfPrefix(Prefix(writer)),
                        [&](const storage::RowView& row) -> absl::StatusOr<bool> {
                          const auto found = expected.find({family, std::string(row.key)});
                          if (found == expected.end()) {
                            Complain(&verdict, Describe(family, row.key, "should not be there"));
                          } else {
                            if (row.value != ValueOf(seed, writer, found->second, family)) {
                              Complain(&verdict, Describe(family, row.key, "has another value"));
                            }
                            expected.erase(found);
                          }
                          return true;
                        }));
    }
    for (const auto& [row, n] : expected) {
      Complain(&verdict, Describe(row.first, row.second, "is missing"));
    }
  }
  return verdict;
}

Verdict CheckReads(const storage::Database& database, uint64_t seed,
                   const std::vector<uint64_t>& counts, bool loss_reported) {
  Verdict verdict;
  verdict.counts = counts;
  for (int writer = 0; writer < kWriters; ++writer) {
    Model model(seed, writer);
    model.AdvanceTo(counts[static_cast<size_t>(writer)]);
    for (const storage::ColumnFamily family : kFamilies) {
      for (uint64_t index = 0; index < kKeysPerWriter; ++index) {
        CheckRead(database, model, {family, KeyOf(writer, index)}, loss_reported, &verdict);
      }
    }
  }
  return verdict;
}

}  // namespace ruvd::campaign
