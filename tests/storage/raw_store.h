// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <gtest/gtest.h>
#include <rocksdb/db.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/db/column_family.h"

namespace ruvd::storage {

using RawHandles = std::vector<rocksdb::ColumnFamilyHandle*>;

// Opens a closed store with RocksDB itself, as an attacker or another program would; `names` are
// the families to open or create, and handles come in their order.
inline void WithRocks(const std::string& path, const std::vector<std::string>& names,
                      const std::function<void(rocksdb::DB&, RawHandles&)>& body) {
  std::vector<rocksdb::ColumnFamilyDescriptor> descriptors;
  for (const std::string& name : names) {
    descriptors.emplace_back(name, rocksdb::ColumnFamilyOptions());
  }
  rocksdb::DBOptions options;
  options.create_if_missing = true;
  options.create_missing_column_families = true;
  RawHandles handles;
  rocksdb::DB* raw = nullptr;
  ASSERT_TRUE(rocksdb::DB::Open(options, path, descriptors, &handles, &raw).ok());
  const std::unique_ptr<rocksdb::DB> database(raw);
  body(*database, handles);
  for (rocksdb::ColumnFamilyHandle* handle : handles) {
    ASSERT_TRUE(database->DestroyColumnFamilyHandle(handle).ok());
  }
  ASSERT_TRUE(database->Close().ok());
}

// Damages rows of a closed store as a disk does, so that their values do not open.
inline void DamageRows(const std::string& path,
                       const std::vector<std::pair<ColumnFamily, std::string>>& rows) {
  std::vector<std::string> names;
  for (const ColumnFamilyInfo& info : kColumnFamilies) {
    names.emplace_back(info.name);
  }
  WithRocks(path, names, [&](rocksdb::DB& raw, RawHandles& handles) {
    for (const auto& [family, key] : rows) {
      ASSERT_TRUE(raw.Put({}, handles[static_cast<size_t>(family)], key, "damage").ok());
    }
  });
}

// Returns the files under a folder that contain the bytes.
inline std::vector<std::string> FilesContaining(const std::filesystem::path& folder,
                                                std::string_view bytes) {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) {
      std::ifstream in(entry.path(), std::ios::binary);
      const std::string contents{std::istreambuf_iterator<char>(in), {}};
      if (contents.find(bytes) != std::string::npos) {
        found.push_back(entry.path());
      }
    }
  }
  return found;
}

}  // namespace ruvd::storage
