// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/hnsw/hnsw_index.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "storage/hnsw/split_mix.h"

namespace ruvd::storage {
namespace {

using hnsw::kMaxLevel;
using hnsw::kNoNode;
using hnsw::SplitMix64;
using hnsw::SquaredNorm;

// A bank is repaired when more than one in this many rows of its graph was removed.
constexpr size_t kVacuumPart = 5;
// Orphans are looked for when more than one in kGrowthPart rows, and more than kMinGrowth, were
// linked since the last pass.
constexpr size_t kGrowthPart = 4;
constexpr size_t kMinGrowth = 1000;
// A tail shorter than this is not worth cleaning.
constexpr size_t kMinTail = 1024;
// Room for removed rows besides the live ones.
constexpr size_t kSpareNodes = 1024;
// The number of rows that one pass moves to lower numbers, so that the memory behind them can be
// freed.
constexpr size_t kMovesOfAPass = 1024;
// No rows are moved while the tail is longer than this: a row moves through the tail, which every
// search scans.
constexpr size_t kTailForMoves = 4096;
// The number of nodes that one call frees; each takes about a microsecond.
constexpr size_t kFreedAtOnce = 256;

}  // namespace

HnswIndex::HnswIndex(const HnswOptions& options)
    : core_(options), linker_(core_), repairer_(core_, linker_) {}

HnswIndex::~HnswIndex() = default;

absl::StatusOr<std::unique_ptr<HnswIndex>> HnswIndex::Create(const HnswOptions& options) {
  if (options.dimension == 0 || options.dimension > limits::kMaxDimension || options.m < 2 ||
      options.m > limits::kMaxHnswM || options.ef_construction == 0 ||
      options.ef_construction > limits::kMaxEfConstruction || options.max_rows == 0 ||
      options.max_rows > limits::kMaxPatterns) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "vector index of {} rows with dimension {}, M {}, ef_construction {}; use 1 to {} "
                 "rows, a dimension of 1 to {}, M of 2 to {} and ef_construction of 1 to {}",
                 options.max_rows, options.dimension, options.m, options.ef_construction,
                 limits::kMaxPatterns, limits::kMaxDimension, limits::kMaxHnswM,
                 limits::kMaxEfConstruction);
  }
  if ((options.rescore == HnswRescore::kSource) != (options.rows != nullptr)) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "a vector index needs a row source exactly when it rescores from one");
  }
  std::unique_ptr<HnswIndex> index(new HnswIndex(options));
  RETURN_IF_ERROR(index->Reserve());
  return index;
}

absl::Status HnswIndex::Reserve() {
  const size_t nodes = core_.options.max_rows + core_.options.max_rows / 2 + kSpareNodes;
  RETURN_IF_ERROR(core_.nodes.Reserve(nodes));
  RETURN_IF_ERROR(core_.attributes.Reserve(nodes));
  RETURN_IF_ERROR(core_.live.Reserve(nodes));
  RETURN_IF_ERROR(core_.replaced.Reserve(nodes));
  RETURN_IF_ERROR(core_.in_graph.Reserve(nodes));
  return core_.pending.Reserve(nodes);
}

absl::Status HnswIndex::CheckVector(std::span<const float> vector) const {
  if (vector.size() != core_.options.dimension) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kWrongDimension,
                 "embedding has {} values, the index has {}; use the model that the node serves",
                 vector.size(), core_.options.dimension);
  }
  const double squares = SquaredNorm(vector);
  const bool cosine = core_.options.metric == HnswMetric::kCosine;
  // Without normalising, products and their sums must fit into a float.
  const bool fits = cosine ? std::isfinite(squares) : squares < 1e30;
  if (!fits || (cosine && squares == 0)) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "embedding has {}; send finite values, not all zero",
                 squares == 0 ? "only zeros" : "values that are not finite or too large");
  }
  return absl::OkStatus();
}

absl::Status HnswIndex::Check(const HnswRow& row) const {
  RETURN_IF_ERROR(CheckVector(row.vector));
  RETURN_IF_ERROR(hnsw::CheckAttributes(row.attributes));
  if (row.label >= limits::kMaxPatterns) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "row number {} is too large; number rows from 0 to {}", row.label,
                 limits::kMaxPatterns - 1);
  }
  if (NodeOf(row.label) == kNoNode && live_.load() >= core_.options.max_rows) {
    return Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
                 "the vector index holds its limit of {} rows; delete patterns",
                 core_.options.max_rows);
  }
  return absl::OkStatus();
}

std::vector<float> HnswIndex::PrepareVector(std::span<const float> vector) const {
  std::vector<float> prepared(vector.begin(), vector.end());
  if (core_.options.metric == HnswMetric::kCosine) {
    const double scale = 1.0 / std::sqrt(SquaredNorm(vector));
    for (float& value : prepared) {
      value = static_cast<float>(static_cast<double>(value) * scale);
    }
  }
  return prepared;
}

// Levels are exponential with scale 1 / ln M (Malkov and Yashunin 2018, section 4.1). They come
// from a hash of the label instead of a generator, so that a rebuild gives the same levels.
uint8_t HnswIndex::LevelOf(uint32_t label) const {
  const uint64_t hash = SplitMix64(core_.options.seed ^ SplitMix64(label));
  const double uniform = (static_cast<double>(hash >> 11) + 1.0) * 0x1.0p-53;  // (0, 1]
  const double level = -std::log(uniform) / std::log(static_cast<double>(core_.options.m));
  return static_cast<uint8_t>(std::min(static_cast<size_t>(level), kMaxLevel));
}

uint32_t HnswIndex::NodeOf(uint32_t label) const {
  return label < node_of_.size() ? node_of_[label] : kNoNode;
}

void HnswIndex::Encode(uint32_t node, std::span<const float> row) {
  hnsw::NodeStore& nodes = core_.nodes;
  nodes.header(node) = hnsw::EncodeRow(row, nodes.layout(), core_.options.metric, nodes.high(node),
                                       nodes.low(node), nodes.residual(node));
}

void HnswIndex::SetPending(uint32_t node, bool pending) {
  core_.pending.Set(node, pending);
  // A reader that sees a count without this row, and so skips the tail, finds links to the row.
  core_.pending_count.fetch_add(pending ? 1U : ~0U, std::memory_order_release);
}

void HnswIndex::AddToTail(uint32_t node) {
  SetPending(node, true);
  tail_.push_back(node);
  if (tail_.size() > kMinTail && tail_.size() / 2 > core_.pending_count.load()) {
    CompactTail();
  }
  tail_places_ = tail_.size();
}

// When a number is in the tail more than once, its last place counts: the earlier ones belong to
// rows that are gone.
void HnswIndex::CompactTail() {
  std::vector<bool> seen(core_.nodes.size(), false);
  std::deque<uint32_t> kept;
  for (; !tail_.empty(); tail_.pop_back()) {
    const uint32_t node = tail_.back();
    if (node < seen.size() && !seen[node] && core_.pending.Get(node)) {
      seen[node] = true;
      kept.push_front(node);
    }
  }
  tail_ = std::move(kept);
}

absl::Status HnswIndex::Put(const HnswRow& row) {
  RETURN_IF_ERROR(Check(row));
  Reclaim();
  const std::vector<float> prepared = PrepareVector(row.vector);
  const size_t room = core_.nodes.size() + 1;
  RETURN_IF_ERROR(core_.attributes.Grow(room));
  RETURN_IF_ERROR(core_.live.Grow(room));
  RETURN_IF_ERROR(core_.replaced.Grow(room));
  RETURN_IF_ERROR(core_.pending.Grow(room));
  RETURN_IF_ERROR(core_.in_graph.Grow(room));
  ASSIGN_OR_RETURN(const uint32_t node,
                   core_.nodes.Allocate({.label = row.label,
                                         .generation = row.generation,
                                         .level = LevelOf(row.label),
                                         .bank = static_cast<uint8_t>(row.attributes.bank)}));
  Encode(node, prepared);
  core_.attributes.Set(node, row.attributes);
  node_of_.resize(std::max<size_t>(node_of_.size(), row.label + size_t{1}), kNoNode);
  Publish(node);
  return absl::OkStatus();
}

void HnswIndex::Publish(uint32_t node) {
  const hnsw::NodeInfo& info = core_.nodes.info(node);
  if (node < orphaned_.size()) {
    orphaned_[node] = false;
  }
  ++changed_since_retry_;
  const uint32_t old = std::exchange(node_of_[info.label], node);
  core_.replaced.Set(node, false);
  AddToTail(node);
  hnsw::Add(core_.banks[info.bank].live, 1);
  core_.live.Set(node, true);
  ++live_;
  if (old != kNoNode) {
    core_.recent.Add(node);
    core_.replaced.Set(old, true);
    // A node without links to it has no place to hand over.
    if (core_.in_graph.Get(old) && !core_.pending.Get(old)) {
      former_[node] = old;
    } else if (const auto before = former_.find(old); before != former_.end()) {
      former_[node] = before->second;
    }
    Kill(old);
  }
}

// Hides a node from searches. The caller updates the label.
void HnswIndex::Kill(uint32_t node) {
  former_.erase(node);
  hnsw::BankGraph& bank = core_.banks[core_.nodes.info(node).bank];
  core_.live.Set(node, false);
  hnsw::Add(bank.live, -1);
  --live_;
  ++removed_;
  const bool pending = core_.pending.Get(node);
  if (pending) {
    SetPending(node, false);
  }
  if (!core_.in_graph.Get(node)) {  // no link leads to it
    retired_.push_back({core_.epochs.Advance(), node});
    return;
  }
  if (!pending) {
    hnsw::Add(bank.linked, -1);
  }
  hnsw::Add(bank.linked_dead, 1);
  repairer_.AddRemoved(node);
}

bool HnswIndex::Remove(uint32_t label) {
  const uint32_t node = NodeOf(label);
  if (node == kNoNode) {
    return false;
  }
  node_of_[label] = kNoNode;
  Kill(node);
  Reclaim();
  return true;
}

bool HnswIndex::Erase(uint32_t label) {
  const uint32_t node = NodeOf(label);
  // A row of the tail needs no pass, because no link leads to it, unless its former node has to go
  // too.
  pass_wanted_ =
      pass_wanted_ || (node != kNoNode && (core_.in_graph.Get(node) || former_.contains(node)));
  return Remove(label);
}

absl::Status HnswIndex::SetAttributes(uint32_t label, const HnswAttributes& attributes) {
  RETURN_IF_ERROR(hnsw::CheckAttributes(attributes));
  const uint32_t node = NodeOf(label);
  if (node == kNoNode) {
    return Error(absl::StatusCode::kNotFound, reasons::kNotFound,
                 "the vector index has no row {}; put it first", label);
  }
  if (attributes.bank != core_.nodes.info(node).bank) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "row {} is in bank {}; put it again to move it to bank {}", label,
                 core_.nodes.info(node).bank, attributes.bank);
  }
  core_.recent.Add(node);  // before the change: a search that sees part of it looks there
  core_.attributes.Set(node, attributes);
  return absl::OkStatus();
}

bool HnswIndex::IsMostlyRemoved(const hnsw::BankGraph& bank) {
  return bank.linked_dead.load() > std::max<size_t>(bank.linked.load(), kMinGrowth);
}

bool HnswIndex::Link(uint32_t node) {
  const auto found = former_.find(node);
  const uint32_t former = found == former_.end() ? kNoNode : found->second;
  // The former node's number may belong to another row by now.
  const bool there = former != kNoNode && core_.in_graph.Get(former) && !core_.live.Get(former) &&
                     core_.nodes.info(former).label == core_.nodes.info(node).label;
  bool linked = there && linker_.ReplaceRemoved(node, former);
  if (!linked && IsMostlyRemoved(core_.banks[core_.nodes.info(node).bank])) {
    return false;
  }
  former_.erase(node);
  linked = linked || linker_.Link(node);
  core_.in_graph.Set(node, true);
  return linked;
}

size_t HnswIndex::LinkBatch(size_t count) {
  Reclaim();
  size_t taken = 0;
  while (taken < count && !tail_.empty()) {
    const uint32_t node = tail_.front();
    tail_.pop_front();
    if (!core_.pending.Get(node)) {  // removed meanwhile; the number may even be reused and linked
      continue;
    }
    if (!Link(node)) {
      tail_.push_back(node);
      pass_wanted_ = true;
      break;
    }
    hnsw::BankGraph& bank = core_.banks[core_.nodes.info(node).bank];
    hnsw::Add(bank.linked, 1);
    SetPending(node, false);
    repairer_.Linked(node);
    ++linked_since_pass_;
    ++taken;
  }
  tail_places_ = tail_.size();
  return taken;
}

bool HnswIndex::PassIsDue() const {
  const size_t rows = live_.load();
  return pass_wanted_ || (IsMostlyFree() && repairer_.waiting() > 0) ||
         (linked_since_pass_ > kMinGrowth && linked_since_pass_ * kGrowthPart > rows) ||
         std::any_of(core_.banks.begin(), core_.banks.end(), [](const auto& bank) {
           const size_t dead = bank.linked_dead.load();
           return dead * kVacuumPart > dead + bank.linked.load();
         });
}

bool HnswIndex::RepairBatch(size_t nodes, bool now) {
  const bool more = Reclaim();
  if (!repairer_.in_pass()) {
    if (repairer_.waiting() == 0) {
      MoveBatch();
    }
    if (!PassIsDue() && !(now && repairer_.waiting() > 0)) {
      return more;
    }
    linked_since_pass_ = 0;
    pass_wanted_ = false;
    RequeueUnlinked();
    repairer_.Begin();
  }
  const hnsw::Repairer::Outcome outcome = repairer_.Step(nodes);
  Apply(outcome);
  if (outcome.finished) {
    core_.nodes.Trim();
    MoveBatch();
  }
  return Reclaim() || repairer_.in_pass();
}

void HnswIndex::Apply(const hnsw::Repairer::Outcome& outcome) {
  // This comes before the epoch closes: a reader that enters afterwards does not keep these nodes
  // from being reused and must not read them.
  for (const uint32_t node : outcome.unlinked) {
    core_.in_graph.Set(node, false);
  }
  const uint64_t epoch = outcome.unlinked.empty() ? 0 : core_.epochs.Advance();
  for (const uint32_t node : outcome.unlinked) {
    hnsw::Add(core_.banks[core_.nodes.info(node).bank].linked_dead, -1);
    retired_.push_back({epoch, node});
  }
  orphaned_.resize(core_.nodes.size(), false);
  for (const uint32_t node : outcome.orphans) {
    hnsw::Add(core_.banks[core_.nodes.info(node).bank].linked, -1);
    if (orphaned_[node]) {
      SetPending(node, true);
      loose_.push_back(node);
    } else {
      orphaned_[node] = true;
      AddToTail(node);
    }
  }
}

// Tries rows that did not stay linked again after the index has changed.
void HnswIndex::RequeueUnlinked() {
  if (changed_since_retry_ <= kMinGrowth || changed_since_retry_ * kGrowthPart <= live_.load()) {
    return;
  }
  changed_since_retry_ = 0;
  orphaned_.clear();
  for (const uint32_t node : std::exchange(loose_, {})) {
    if (core_.live.Get(node) && core_.pending.Get(node)) {
      tail_.push_back(node);
    }
  }
}

size_t HnswIndex::FindOrphans() {
  RUVD_CHECK(!repairer_.in_pass() && repairer_.waiting() == 0);
  repairer_.Begin();
  for (;;) {
    const hnsw::Repairer::Outcome outcome = repairer_.Step(core_.nodes.size() + 1);
    Apply(outcome);
    if (outcome.finished) {
      return outcome.orphans.size();
    }
  }
}

bool HnswIndex::Reclaim() {
  if (retired_.empty()) {
    return false;
  }
  const uint64_t oldest = core_.epochs.OldestReader();
  const auto free = [&] { return !retired_.empty() && retired_.front().epoch < oldest; };
  for (size_t freed = 0; freed < kFreedAtOnce && free(); ++freed) {
    core_.nodes.Free(retired_.front().node);
    core_.attributes.Set(retired_.front().node, {});
    core_.replaced.Set(retired_.front().node, false);
    retired_.pop_front();
    --removed_;
    freed_since_move_ = true;
  }
  return free();
}

bool HnswIndex::IsMostlyFree() const {
  return core_.nodes.free_count() >= live_.load() + kSpareNodes;
}

// When most numbers are free, rows move to the lowest ones through the tail, and the memory after
// the last row goes back to the system.
void HnswIndex::MoveBatch() {
  if (!freed_since_move_ || !IsMostlyFree() || core_.pending_count.load() > kTailForMoves) {
    return;
  }
  freed_since_move_ = false;
  core_.nodes.Trim();
  size_t moves = IsMostlyFree() ? kMovesOfAPass : 0;
  for (auto from = static_cast<uint32_t>(core_.nodes.size()); from-- > 0 && moves > 0;) {
    if (core_.live.Get(from)) {
      if (!MoveDown(from)) {
        return;
      }
      pass_wanted_ = true;
      --moves;
    }
  }
}

bool HnswIndex::MoveDown(uint32_t from) {
  hnsw::NodeStore& nodes = core_.nodes;
  hnsw::NodeInfo info = nodes.info(from);
  info.upper = nullptr;
  const absl::StatusOr<uint32_t> to = nodes.Allocate(info);
  if (!to.ok() || *to > from) {
    if (to.ok()) {
      nodes.Free(*to);
    }
    return false;
  }
  std::memcpy(nodes.high(*to), nodes.high(from), nodes.layout().plane_bytes);
  std::memcpy(nodes.low(*to), nodes.low(from), nodes.layout().plane_bytes);
  if (nodes.has_residual()) {
    std::memcpy(nodes.residual(*to), nodes.residual(from), nodes.layout().plane_bytes);
  }
  nodes.header(*to) = nodes.header(from);
  core_.attributes.Set(*to, core_.attributes.Get(from));
  Publish(*to);
  return true;
}

HnswCounts HnswIndex::Counts() const {
  const hnsw::ReaderEpochs::Pin pin(core_.epochs);
  return {.live = live_.load(),
          .pending = core_.pending_count.load(),
          .removed = removed_.load(),
          .tail_places = tail_places_.load(),
          .nodes = core_.nodes.size(),
          .memory_bytes = core_.nodes.committed_bytes() + core_.attributes.committed_bytes() +
                          core_.live.committed_bytes() + core_.replaced.committed_bytes() +
                          core_.pending.committed_bytes() + core_.in_graph.committed_bytes()};
}

}  // namespace ruvd::storage
