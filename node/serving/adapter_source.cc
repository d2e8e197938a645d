// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/serving/adapter_source.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/adapter/adapter_bytes.h"
#include "node/limits.h"
#include "node/log/log.h"
#include "node/serving/bank_range.h"
#include "node/serving/pattern_payload.h"
#include "node/serving/served_adapters.h"
#include "storage/similarity/cosine.h"

namespace ruvd::serving {
namespace {

absl::StatusOr<storage::PatternId> ParseId(const std::string& hex) {
  storage::PatternId id{};
  const std::optional<std::string> bytes = FromHex(hex);
  if (!bytes || bytes->size() != id.size()) {
    return Error(absl::StatusCode::kInternal, reasons::kInternal, "'{}' is not a pattern id", hex);
  }
  std::memcpy(id.data(), bytes->data(), id.size());
  return id;
}

}  // namespace

inference::AdapterMix ChosenAdapters::At(float t) const {
  return MixAt(parts, t, query);
}

ChosenAdapters ChosenAdapters::WithFactors(std::span<const float> factors) const {
  RUVD_CHECK(factors.size() == from_catalog);
  ChosenAdapters next{.query = query};
  for (size_t i = 0; i < from_catalog; ++i) {
    if (factors[i] != 0) {
      next.parts.push_back(parts[i]);
      next.parts.back().weight *= factors[i];
      next.uses.push_back(uses[i]);
      next.uses.back().weight *= factors[i];
    }
  }
  next.from_catalog = next.parts.size();
  const auto patterns = static_cast<ptrdiff_t>(from_catalog);
  next.parts.insert(next.parts.end(), parts.begin() + patterns, parts.end());
  next.uses.insert(next.uses.end(), uses.begin() + patterns, uses.end());
  return next;
}

bool ChosenAdapters::ReadsQuery() const {
  return std::any_of(parts.begin(), parts.end(),
                     [](const RangedPart& part) { return part.adapter->router.has_value(); });
}

absl::StatusOr<ChosenAdapters> AdapterSource::Choose(std::span<const float> embedding,
                                                     std::span<const AdapterChoice> choices,
                                                     const PatternFactor& factor) {
  ChosenAdapters chosen;
  chosen.query.assign(embedding.begin(), embedding.end());
  ASSIGN_OR_RETURN(chosen.parts, catalog_.Choose(choices));
  chosen.from_catalog = chosen.parts.size();
  for (const RangedPart& part : chosen.parts) {
    chosen.uses.push_back(
        {.name = part.adapter->name, .version = part.adapter->version, .weight = part.weight});
  }
  std::array<BankChoice, inference::kTimestepBanks> banks;
  // When a request begins, the whole window is masked, so the bank of t = 1 comes first.
  BankChoice& first = banks.back();
  ASSIGN_OR_RETURN(first, Retrieve(embedding, inference::BankOf(1), factor));
  std::array<const BankChoice*, inference::kTimestepBanks> choice;
  choice.fill(&first);
  for (size_t bank = 0; bank + 1 < banks.size(); ++bank) {
    ASSIGN_OR_RETURN(banks[bank],
                     Retrieve(embedding, static_cast<inference::TimestepBank>(bank), factor));
    choice[bank] = banks[bank].parts.empty() ? &first : &banks[bank];
  }
  for (size_t begin = 0;
       begin < choice.size();) {  // neighbouring banks with the same choice form one range
    size_t end = begin + 1;
    while (end < choice.size() && choice[end] == choice[begin]) {
      ++end;
    }
    AddParts(*choice[begin], begin, end, &chosen);
    begin = end;
  }
  return chosen;
}

void AdapterSource::AddParts(const BankChoice& choice, size_t begin, size_t end,
                             ChosenAdapters* chosen) {
  const BankRange range = RangeOfBanks(begin, end);
  for (size_t i = 0; i < choice.parts.size(); ++i) {
    const Part& part = choice.parts[i];
    chosen->parts.push_back({.adapter = part.adapter,
                             .weight = part.weight,
                             .t_min = range.t_min,
                             .t_max = range.t_max});
    const AdapterUse& use = choice.uses[i];
    const bool known =
        std::any_of(chosen->uses.begin(), chosen->uses.end(), [&use](const AdapterUse& other) {
          return other.pattern_id == use.pattern_id && other.name == use.name &&
                 other.version == use.version;
        });
    if (!known) {
      chosen->uses.push_back(use);
    }
  }
}

absl::StatusOr<AdapterSource::BankChoice> AdapterSource::Retrieve(std::span<const float> embedding,
                                                                  inference::TimestepBank bank,
                                                                  const PatternFactor& factor) {
  // Hits that are looked at to find usable ones
  constexpr int kMostSearched = 64;
  if (embedding.empty() || options_.max_adapters <= 0) {
    return BankChoice();
  }
  // Patterns that this node cannot use, such as those of a former frame, take no place of others.
  for (int searched = options_.max_adapters;; searched *= 2) {
    ASSIGN_OR_RETURN(std::vector<inference::RetrievedPattern> hits,
                     Nearest(embedding, bank, searched, factor));
    const bool are_all = static_cast<int>(hits.size()) < searched ||
                         hits.back().similarity < options_.threshold || searched >= kMostSearched;
    Load(&hits);
    if (are_all || static_cast<int>(hits.size()) >= options_.max_adapters) {
      return Use(hits);
    }
  }
}

absl::StatusOr<std::vector<inference::RetrievedPattern>> AdapterSource::Nearest(
    std::span<const float> query, inference::TimestepBank bank, int k,
    const PatternFactor& factor) const {
  ASSIGN_OR_RETURN(std::vector<inference::RetrievedPattern> hits, index_.Search(query, bank, k));
  if (factor != nullptr) {
    for (inference::RetrievedPattern& hit : hits) {
      hit.similarity *= factor(hit.pattern_id);
    }
    std::ranges::stable_sort(hits, std::ranges::greater(),
                             &inference::RetrievedPattern::similarity);
  }
  return hits;
}

std::vector<inference::RetrievedPattern> AdapterSource::PatternsInUse(
    const ChosenAdapters& current, std::span<const float> query, inference::UncertaintyKind kind,
    const PatternFactor& factor) const {
  std::vector<inference::RetrievedPattern> in_use;
  for (const AdapterUse& use : current.uses) {
    if (use.pattern_id.empty()) {
      continue;
    }
    inference::RetrievedPattern& own = in_use.emplace_back();
    own.pattern_id = use.pattern_id;
    own.similarity = std::numeric_limits<float>::lowest();
    if (kind != inference::UncertaintyKind::kContested) {
      continue;
    }
    const absl::StatusOr<storage::PatternId> id = ParseId(use.pattern_id);
    const absl::StatusOr<storage::Pattern> pattern = id.ok() ? patterns_.Get(*id) : id.status();
    if (pattern.ok()) {
      const float scale = factor != nullptr ? factor(use.pattern_id) : 1.0F;
      own.similarity = scale * storage::CosineSimilarity(query, pattern->embedding).value_or(0);
    }
  }
  return in_use;
}

absl::StatusOr<ChosenAdapters> AdapterSource::Reselect(const ChosenAdapters& current,
                                                       std::span<const float> query,
                                                       inference::TimestepBank bank,
                                                       inference::UncertaintyKind kind,
                                                       const PatternFactor& factor) {
  const std::vector<inference::RetrievedPattern> in_use =
      PatternsInUse(current, query, kind, factor);
  // These kinds drop the patterns in use from the hits, so more hits must be found.
  const bool others = kind == inference::UncertaintyKind::kUnstable ||
                      kind == inference::UncertaintyKind::kContested;
  const int searched = options_.max_adapters + (others ? static_cast<int>(in_use.size()) : 0);
  ASSIGN_OR_RETURN(std::vector<inference::RetrievedPattern> hits,
                   Nearest(query, bank, searched, factor));
  // Hits that are too far would never be used, so they do not count as new.
  std::erase_if(hits, [&](const inference::RetrievedPattern& hit) {
    return hit.similarity < options_.threshold;
  });
  hits = inference::FilterByKind(std::move(hits), kind, in_use);
  Load(&hits);
  ASSIGN_OR_RETURN(const BankChoice choice, Use(hits));
  if (choice.parts.empty()) {
    return current;
  }
  const auto kept = static_cast<std::ptrdiff_t>(current.from_catalog);
  ChosenAdapters chosen;
  chosen.from_catalog = current.from_catalog;
  chosen.query = current.query;
  chosen.parts.assign(current.parts.begin(), current.parts.begin() + kept);
  chosen.uses.assign(current.uses.begin(), current.uses.begin() + kept);
  AddParts(choice, 0, inference::kTimestepBanks, &chosen);
  return chosen;
}

absl::StatusOr<AdapterSource::BankChoice> AdapterSource::Use(
    std::span<const inference::RetrievedPattern> hits) {
  inference::Selection selection = inference::SelectAdapters(hits, registry_, options_);
  BankChoice choice;
  for (size_t i = 0; i < selection.mix.parts.size(); ++i) {
    const inference::AdapterMix::Part& part = selection.mix.parts[i];
    choice.parts.push_back(
        {.adapter = inference::StaticTalora(part.adapter), .weight = part.weight});
    choice.uses.push_back({.name = part.adapter->name,
                           .version = part.adapter->version,
                           .weight = part.weight,
                           .pattern_id = selection.hits[i].pattern_id,
                           .similarity = selection.hits[i].similarity});
    ASSIGN_OR_RETURN(const storage::PatternId id, ParseId(selection.hits[i].pattern_id));
    // A full disk, or a pattern that was deleted meanwhile, must not keep a request from its
    // answer.
    patterns_.RecordUse(id).IgnoreError();
  }
  return choice;
}

void AdapterSource::Load(std::vector<inference::RetrievedPattern>* hits) {
  int usable = 0;
  std::erase_if(*hits, [&](const inference::RetrievedPattern& hit) {
    const bool is_usable = usable < options_.max_adapters && hit.similarity >= options_.threshold &&
                           (registry_.Get(hit.adapter, hit.version).ok() || LoadOrReport(hit));
    usable += is_usable ? 1 : 0;
    return !is_usable;
  });
}

bool AdapterSource::LoadOrReport(const inference::RetrievedPattern& hit) {
  const absl::Status status = LoadOne(hit);
  if (status.ok() || absl::IsNotFound(status)) {  // deleted or replaced since the search
    return status.ok();
  }
  const MutexLock lock(mutex_);
  if (reported_.size() < limits::kMaxCachedAdapters && reported_.insert(hit.pattern_id).second) {
    LogWarning("the adapter of pattern {} cannot be used: {} [{}]", hit.pattern_id,
               MessageOf(status), ReasonOf(status));
  }
  return false;
}

absl::Status AdapterSource::LoadOne(const inference::RetrievedPattern& hit) {
  ASSIGN_OR_RETURN(const storage::PatternId id, ParseId(hit.pattern_id));
  ASSIGN_OR_RETURN(const storage::Pattern pattern, patterns_.Get(id));
  ASSIGN_OR_RETURN(const PatternPayload payload, DecodePatternPayload(pattern.payload));
  ASSIGN_OR_RETURN(std::shared_ptr<const inference::Adapter> adapter,
                   AdapterOfPattern(pattern, payload, model_, frame_));
  if (adapter == nullptr) {
    return absl::NotFoundError("the pattern lost its adapter");
  }
  const Loaded loaded{.name = adapter->name,
                      .version = adapter->version,
                      .bytes = inference::FactorBytes(*adapter)};
  MutexLock lock(mutex_);
  RETURN_IF_ERROR(registry_.Publish(std::move(adapter)));
  loaded_.push_back(loaded);
  loaded_bytes_ += loaded.bytes;
  while (loaded_.size() > limits::kMinCachedAdapters &&
         (loaded_.size() > limits::kMaxCachedAdapters || loaded_bytes_ > max_cached_bytes_)) {
    const Loaded& oldest = loaded_.front();
    registry_.Remove(oldest.name, oldest.version).IgnoreError();
    loaded_bytes_ -= oldest.bytes;
    loaded_.pop_front();
  }
  return absl::OkStatus();
}

}  // namespace ruvd::serving
