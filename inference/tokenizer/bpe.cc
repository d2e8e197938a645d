// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/tokenizer/bpe.h"

#include <queue>
#include <tuple>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/tokenizer/byte_alphabet.h"

namespace ruvd {
namespace {

constexpr int kNone = -1;

// A piece of the word under work: a linked list over the positions of its bytes.
struct Piece {
  uint32_t symbol;
  uint32_t begin;
  uint32_t end;  // begin == end: absorbed by a piece to the left
  int previous;
  int next;
};

// A pair that could merge; stale once either piece has changed.
struct Candidate {
  uint32_t rank;
  int left;
  int right;
  uint32_t left_symbol;
  uint32_t right_symbol;
  uint32_t result;
};

// Orders the queue: lowest rank first, then leftmost.
struct Later {
  bool operator()(const Candidate& a, const Candidate& b) const {
    return std::tie(a.rank, a.left) > std::tie(b.rank, b.left);
  }
};

std::vector<Piece> BytePieces(std::string_view word) {
  std::vector<Piece> pieces(word.size());
  for (size_t i = 0; i < word.size(); ++i) {
    pieces[i] = {.symbol = static_cast<uint8_t>(word[i]),
                 .begin = static_cast<uint32_t>(i),
                 .end = static_cast<uint32_t>(i + 1),
                 .previous = static_cast<int>(i) - 1,
                 .next = i + 1 < word.size() ? static_cast<int>(i + 1) : kNone};
  }
  return pieces;
}

absl::Status BadMerge(std::string_view line, size_t rank) {
  return Error(absl::StatusCode::kDataLoss, reasons::kTokenizerInvalid,
               "tokenizer merge {} (\"{}\") is not two pieces with a space between; convert the "
               "model again",
               rank, line.substr(0, 64));
}

}  // namespace

absl::StatusOr<BytePairMerges> BytePairMerges::Create(const StringMap<uint32_t>& ids,
                                                      std::span<const std::string> merges) {
  BytePairMerges out;
  StringMap<SymbolId> symbols;
  const auto intern = [&](const std::string& bytes) {
    const auto [entry, added] = symbols.emplace(bytes, static_cast<SymbolId>(out.tokens_.size()));
    if (added) {
      const auto token = ids.find(bytes);
      out.tokens_.push_back(token == ids.end() ? kNoToken : token->second);
    }
    return entry->second;
  };
  for (int byte = 0; byte < 256; ++byte) {
    intern(std::string(1, static_cast<char>(byte)));
  }
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const std::string_view line = merges[rank];
    const size_t space = line.find(' ', 1);
    if (space == std::string_view::npos) {
      return BadMerge(line, rank);
    }
    const auto left = BytesOfSpelling(line.substr(0, space));
    const auto right = BytesOfSpelling(line.substr(space + 1));
    if (!left || !right || left->empty() || right->empty()) {
      return BadMerge(line, rank);
    }
    const uint64_t key = PairKey(intern(*left), intern(*right));
    // A pair listed twice keeps its first, better rank.
    out.merges_.emplace(
        key, Merge{.rank = static_cast<uint32_t>(rank), .result = intern(*left + *right)});
  }
  return out;
}

const BytePairMerges::Merge* BytePairMerges::Find(SymbolId left, SymbolId right) const {
  const auto found = merges_.find(PairKey(left, right));
  return found == merges_.end() ? nullptr : &found->second;
}

void BytePairMerges::Encode(std::string_view word, std::vector<uint32_t>* out) const {
  std::vector<Piece> pieces = BytePieces(word);
  std::priority_queue<Candidate, std::vector<Candidate>, Later> queue;
  const auto offer = [&](int left, int right) {
    if (left == kNone || right == kNone) {
      return;
    }
    const Merge* merge = Find(pieces[left].symbol, pieces[right].symbol);
    if (merge != nullptr) {
      queue.push(
          {merge->rank, left, right, pieces[left].symbol, pieces[right].symbol, merge->result});
    }
  };
  for (size_t i = 1; i < pieces.size(); ++i) {
    offer(static_cast<int>(i) - 1, static_cast<int>(i));
  }
  while (!queue.empty()) {
    const Candidate best = queue.top();
    queue.pop();
    Piece& left = pieces[best.left];
    Piece& right = pieces[best.right];
    // Pieces only grow or vanish, so equal symbols mean that nothing changed since the offer.
    if (left.begin == left.end || right.begin == right.end || left.symbol != best.left_symbol ||
        right.symbol != best.right_symbol || left.next != best.right) {
      continue;
    }
    left.symbol = best.result;
    left.end = right.end;
    left.next = right.next;
    right.begin = right.end;
    if (left.next != kNone) {
      pieces[left.next].previous = best.left;
    }
    offer(left.previous, best.left);
    offer(best.left, left.next);
  }
  for (const Piece& piece : pieces) {
    if (piece.begin == piece.end) {
      continue;
    }
    if (tokens_[piece.symbol] != kNoToken) {
      out->push_back(tokens_[piece.symbol]);
      continue;
    }
    for (const char c : word.substr(piece.begin, piece.end - piece.begin)) {
      if (const uint32_t token = tokens_[static_cast<uint8_t>(c)]; token != kNoToken) {
        out->push_back(token);
      }
    }
  }
}

}  // namespace ruvd
