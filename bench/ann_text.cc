// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Turns real text into vectors.

#include <zstd.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "base/random.h"
#include "base/reasons.h"
#include "base/status.h"
#include "bench/ann_data.h"

namespace ruvd::bench {
namespace {

constexpr size_t kChunkWords = 60;
constexpr uint64_t kMaxTextBytes = uint64_t{1} << 30;  // of one file, decompressed

using Chunk = std::vector<uint32_t>;  // numbers of words

absl::Status BadText(const std::string& path, std::string_view what) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kFileUnreadable,
               "{}: {}; give a folder of .jsonl.zst files with a field \"text\"", path, what);
}

absl::StatusOr<std::string> Decompress(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string packed((std::istreambuf_iterator<char>(file)), {});
  ZSTD_DStream* stream = ZSTD_createDStream();
  std::string text;
  std::vector<char> piece(ZSTD_DStreamOutSize());
  ZSTD_inBuffer in{packed.data(), packed.size(), 0};
  bool good = true;
  while (good && in.pos < in.size && text.size() < kMaxTextBytes) {
    ZSTD_outBuffer out{piece.data(), piece.size(), 0};
    good = ZSTD_isError(ZSTD_decompressStream(stream, &out, &in)) == 0;
    text.append(piece.data(), out.pos);
  }
  ZSTD_freeDStream(stream);
  if (!good || text.size() >= kMaxTextBytes) {
    return BadText(path, "does not decompress to less than 1 GiB");
  }
  return text;
}

// Words of all documents, cut into chunks.
class Chunker {
 public:
  explicit Chunker(size_t wanted) : wanted_(wanted) {}

  bool full() const { return chunks_.size() >= wanted_; }
  void Document(std::string_view text) {
    std::string word;
    for (const char c : text) {
      if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
        word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      } else {
        EndWord(&word);
      }
    }
    EndWord(&word);
    current_.clear();
  }
  const std::vector<Chunk>& chunks() const { return chunks_; }
  size_t words() const { return numbers_.size(); }

 private:
  void EndWord(std::string* word) {
    if (word->empty() || full()) {
      return;
    }
    const auto number = static_cast<uint32_t>(numbers_.size());
    current_.push_back(numbers_.try_emplace(*word, number).first->second);
    word->clear();
    if (current_.size() == kChunkWords) {
      chunks_.push_back(std::move(current_));
      current_.clear();
    }
  }

  const size_t wanted_;
  std::unordered_map<std::string, uint32_t> numbers_;
  Chunk current_;
  std::vector<Chunk> chunks_;
};

absl::Status ReadFolder(const std::string& folder, Chunker* chunker) {
  std::vector<std::string> paths;
  std::error_code error;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, error)) {
    if (entry.path().string().ends_with(".jsonl.zst")) {
      paths.push_back(entry.path().string());
    }
  }
  std::sort(paths.begin(), paths.end());
  for (const std::string& path : paths) {
    if (chunker->full()) {
      break;
    }
    ASSIGN_OR_RETURN(const std::string text, Decompress(path));
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find('\n', at), text.size());
      const auto line =
          nlohmann::json::parse(text.begin() + static_cast<ptrdiff_t>(at),
                                text.begin() + static_cast<ptrdiff_t>(end), nullptr, false);
      if (line.is_object() && line.contains("text") && line["text"].is_string()) {
        chunker->Document(line["text"].get_ref<const std::string&>());
      }
      at = end + 1;
    }
  }
  return chunker->full() ? absl::OkStatus() : BadText(folder, "has too little text");
}

// The weight of each word: the logarithm of how rare it is.
std::vector<float> InverseFrequencies(const std::vector<Chunk>& chunks, size_t words) {
  std::vector<uint32_t> seen(words, 0);
  for (Chunk chunk : chunks) {
    std::sort(chunk.begin(), chunk.end());
    chunk.erase(std::unique(chunk.begin(), chunk.end()), chunk.end());
    for (const uint32_t word : chunk) {
      ++seen[word];
    }
  }
  std::vector<float> weights;
  for (const uint32_t count : seen) {
    weights.push_back(std::log(static_cast<float>(chunks.size()) / static_cast<float>(count)));
  }
  return weights;
}

void Project(const Chunk& chunk, const std::vector<float>& weights, uint64_t seed,
             std::span<float> row) {
  for (const uint32_t word : chunk) {
    Random signs(seed ^ (uint64_t{word} * 0x9E3779B97F4A7C15ULL));
    uint64_t bits = 0;
    for (size_t j = 0; j < row.size(); ++j) {
      bits = j % 64 == 0 ? signs.Next() : bits >> 1;
      row[j] += (bits & 1U) != 0 ? weights[word] : -weights[word];
    }
  }
  Normalise(row);
}

}  // namespace

absl::StatusOr<DataSet> MakeText(const std::string& folder, size_t n, size_t dimension,
                                 size_t queries, uint64_t seed) {
  Chunker chunker(n + queries);
  RETURN_IF_ERROR(ReadFolder(folder, &chunker));
  const std::vector<float> weights = InverseFrequencies(chunker.chunks(), chunker.words());
  DataSet set;
  set.base = {n, dimension, std::vector<float>(n * dimension)};
  set.queries = {queries, dimension, std::vector<float>(queries * dimension)};
  const size_t every = (n + queries) / queries;
  size_t next_base = 0;
  size_t next_query = 0;
  for (size_t i = 0; i < n + queries; ++i) {
    const bool query = next_query < queries && (i % every == 0 || next_base == n);
    Matrix& to = query ? set.queries : set.base;
    const size_t at = query ? next_query++ : next_base++;
    Project(chunker.chunks()[i], weights, seed, {to.values.data() + at * dimension, dimension});
  }
  return set;
}

}  // namespace ruvd::bench
