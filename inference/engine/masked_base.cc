// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "inference/engine/generation_base.h"
#include "inference/sampler/diffusion_loop.h"

namespace ruvd::inference::generation {
namespace {

// Tokens and positions use different random streams, so equal seeds give equal tokens whatever the
// rule draws.
constexpr uint64_t kRuleStream = 0x9E3779B97F4A7C15ULL;

}  // namespace

MaskedBase::MaskedBase(const Model& model, Plan plan, AdapterPolicy adapters)
    : Base(model, std::move(plan), std::move(adapters)),
      rule_(MakeCommitRule(plan_.rule)),
      random_(plan_.options.seed ^ kRuleStream),
      active_end_(plan_.open_end) {
  for (TokenId& token : tokens_) {
    open_.push_back(token == kNoToken);
    token = token == kNoToken ? plan_.mask : token;
  }
}

void MaskedBase::EnterScope(int begin, int end) {
  ++scope_;
  scope_begin_ = begin;
  scope_end_ = end;
  scope_step_ = 0;
  const auto open = std::count(open_.begin() + begin, open_.begin() + end, true);
  const int steps = plan_.options.steps > 0 ? plan_.options.steps : static_cast<int>(open);
  schedule_ = std::make_unique<EvenSchedule>(steps);
  rule_->EnterScope();
  proposer_.ResetMovements();
}

bool MaskedBase::HasOpen(int begin, int end) const {
  return std::find(open_.begin() + begin, open_.begin() + end, true) != open_.begin() + end;
}

std::vector<int> MaskedBase::Open(bool masked) const {
  std::vector<int> positions;
  for (int i = scope_begin_; i < std::min(scope_end_, active_end_); ++i) {
    const auto at = static_cast<size_t>(i);
    if (open_[at] && (tokens_[at] == plan_.mask) == masked) {
      positions.push_back(i);
    }
  }
  return positions;
}

void MaskedBase::PrepareForward() {
  if (!in_step_) {
    BeginStep();
  }
  filling_ = PrepareScope();
}

void MaskedBase::BeginStep() {
  while (true) {
    masked_ = Open(true);
    committed_ = Open(false);
    CommitRule::Intent intent = rule_->Prepare(Scope(), random_);
    scope_step_ = intent.step;
    remask_ = std::move(intent.remask);
    evaluate_ = std::move(intent.evaluate);
    if (!evaluate_.empty()) {
      break;
    }
    Remask();  // the step commits nothing, so it costs no forward
    ++scope_step_;
  }
  const size_t open = masked_.size() + committed_.size();
  t_ = static_cast<float>(masked_.size()) / static_cast<float>(open);
  mix_ = AdaptersFor(t_);
  if (branches() > 1) {
    unconditional_ = tokens_;
    for (size_t i = 0; i < open_.size(); ++i) {
      unconditional_[i] = open_[i] ? tokens_[i] : plan_.mask;
    }
  }
  const auto width = static_cast<size_t>(plan_.config.width);
  hidden_.resize(evaluate_.size() * static_cast<size_t>(branches()) * width);
  in_step_ = true;
}

std::vector<int> MaskedBase::PredictingRows(int begin) const {
  std::vector<int> rows;
  for (const int position : evaluate_) {
    const int row = PredictingRow(position, plan_.config.shift_logits) - begin;
    if (row >= 0 && (rows.empty() || rows.back() != row)) {
      rows.push_back(row);
    }
  }
  return rows;
}

void MaskedBase::ReadHidden(int branch, int begin, std::span<const float> hidden,
                            std::span<const float> before) {
  const auto width = static_cast<size_t>(plan_.config.width);
  const std::vector<int> rows = PredictingRows(begin);
  for (size_t i = 0; i < evaluate_.size(); ++i) {
    const int row = PredictingRow(evaluate_[i], plan_.config.shift_logits) - begin;
    const auto found =
        static_cast<size_t>(std::lower_bound(rows.begin(), rows.end(), row) - rows.begin());
    const float* source = row < 0 ? before.data() : hidden.data() + found * width;
    const size_t slot = i * static_cast<size_t>(branches()) + static_cast<size_t>(branch);
    std::copy_n(source, width, hidden_.data() + slot * width);
  }
}

LogitsInput MaskedBase::NextLogits() const {
  if (filling_) {
    return {};
  }
  return {.hidden = hidden_, .adapters = &mix_};
}

void MaskedBase::TakeLogits(std::span<float> logits) {
  const auto vocabulary = static_cast<size_t>(plan_.config.vocabulary);
  const auto group = static_cast<size_t>(branches());
  const auto width = static_cast<size_t>(plan_.config.width);
  if (proposals_.empty()) {
    proposer_.Observe(tokens_);
  }
  const MemoryWindow window{
      .tokens = tokens_, .mask = plan_.mask, .t = t_, .masked = masked_.size()};
  const size_t rows = logits.size() / (group * vocabulary);
  std::vector<float> guided;  // hidden states of the conditional branch
  if (group > 1) {            // classifier-free guidance: u + (w + 1)(c - u), the rows side by side
    const float factor = plan_.options.guidance_scale + 1.0F;
    for (size_t r = 0; r < rows; ++r) {
      const std::span<const float> row = logits.subspan(r * group * vocabulary, vocabulary);
      const std::span<const float> other = logits.subspan((r * group + 1) * vocabulary, vocabulary);
      for (size_t i = 0; i < vocabulary; ++i) {
        logits[r * vocabulary + i] = other[i] + factor * (row[i] - other[i]);
      }
      const std::span<const float> hidden = HiddenOf(proposals_.size() + r);
      guided.insert(guided.end(), hidden.begin(), hidden.end());
    }
  }
  AdjustLogits(
      window, std::span(evaluate_).subspan(proposals_.size(), rows),
      group > 1 ? std::span<const float>(guided)
                : std::span<const float>(hidden_).subspan(proposals_.size() * width, rows * width),
      logits.first(rows * vocabulary));
  for (size_t r = 0; r < rows; ++r) {
    const std::span<float> row = logits.subspan(r * vocabulary, vocabulary);
    const int position = evaluate_[proposals_.size()];
    Constrain(row);  // the only one of the step, where there is a constraint
    const bool must_go_on = position < plan_.given_end;
    proposals_.push_back(proposer_.Propose(
        position, row, must_go_on ? std::span(plan_.end_tokens) : std::span<TokenId>()));
  }
}

std::span<const float> MaskedBase::HiddenOf(size_t index) const {
  const auto width = static_cast<size_t>(plan_.config.width);
  return std::span(hidden_).subspan(index * static_cast<size_t>(branches()) * width, width);
}

ForwardRoundResult MaskedBase::EndRound() {
  if (filling_) {
    return std::nullopt;
  }
  RETURN_IF_ERROR(CheckConstraint());
  for (const Proposal& proposal : proposals_) {
    RETURN_IF_ERROR(CheckSound(proposal));
  }
  StepResult result;
  result.step = steps_++;
  result.t = t_;
  double entropy = 0;
  for (const Proposal& proposal : proposals_) {
    entropy += proposal.entropy;
  }
  result.mean_entropy = static_cast<float>(entropy / static_cast<double>(proposals_.size()));
  CommitAll(rule_->Choose(Scope(), proposals_, random_), &result);
  if (watched()) {
    ShowSignals(t_, Uncertainty(), UnguidedHidden());
  }
  proposals_.clear();
  Remask();
  ++scope_step_;
  in_step_ = false;
  // Remasking may continue after the last mask is gone.
  while (rule_->remasks() && Open(true).empty() && scope_step_ < schedule_->steps()) {
    masked_.clear();
    committed_ = Open(false);
    CommitRule::Intent intent = rule_->Prepare(Scope(), random_);
    scope_step_ = intent.step;
    remask_ = std::move(intent.remask);
    Remask();
    ++scope_step_;
  }
  result.remasked = std::exchange(remasked_, {});
  EndStep(&result);
  return result;
}

std::vector<PositionUncertainty> MaskedBase::Uncertainty() const {
  std::vector<PositionUncertainty> uncertainty;
  uncertainty.reserve(proposals_.size());
  for (const Proposal& proposal : proposals_) {
    uncertainty.push_back(Assess(proposal));
  }
  return uncertainty;
}

std::vector<float> MaskedBase::UnguidedHidden() const {
  std::vector<float> rows;
  for (size_t i = 0; i < proposals_.size(); ++i) {
    const std::span<const float> row = HiddenOf(i);
    rows.insert(rows.end(), row.begin(), row.end());
  }
  return rows;
}

void MaskedBase::CommitAll(std::span<const size_t> chosen, StepResult* result) {
  for (const size_t index : chosen) {
    Proposal& proposal = proposals_[index];
    // An earlier commit of this step may have produced the n-gram that this token would repeat; if
    // so, the position is proposed again later.
    if (!result->commits.empty() && proposer_.Repeats(tokens_, proposal.position, proposal.token)) {
      continue;
    }
    tokens_[static_cast<size_t>(proposal.position)] = proposal.token;
    FollowConstraint(proposal.token);
    RecordCommit(proposal, HiddenOf(index));
    // The position was masked again by a step without a result, and is now committed again.
    std::erase(remasked_, proposal.position - plan_.first_open);
    result->commits.push_back({.position = proposal.position - plan_.first_open,
                               .token = proposal.token,
                               .confidence = proposal.confidence,
                               .logprob = proposal.logprob,
                               .likeliest = std::move(proposal.likeliest)});
  }
  std::sort(result->commits.begin(), result->commits.end(),
            [](const Commit& a, const Commit& b) { return a.position < b.position; });
  FindActiveEnd();
}

void MaskedBase::Remask() {
  for (const int position : remask_) {
    tokens_[static_cast<size_t>(position)] = plan_.mask;
    remasked_.push_back(position - plan_.first_open);
  }
  if (!remask_.empty()) {
    FindActiveEnd();
  }
  remask_.clear();
}

void MaskedBase::FindActiveEnd() {
  active_end_ = plan_.open_end;
  const auto ends = [this](TokenId token) {
    return std::find(plan_.end_tokens.begin(), plan_.end_tokens.end(), token) !=
           plan_.end_tokens.end();
  };
  for (int i = plan_.first_open; i < plan_.open_end; ++i) {
    const auto at = static_cast<size_t>(i);
    if (open_[at] && ends(tokens_[at])) {
      active_end_ = i + 1;
      return;
    }
  }
}

void MaskedBase::EndStep(StepResult* result) {
  const bool scope_done = Open(true).empty();
  int first_masked = active_end_;
  for (int i = active_end_ - 1; i >= plan_.first_open; --i) {
    const auto at = static_cast<size_t>(i);
    if (open_[at] && tokens_[at] == plan_.mask) {
      ++result->masked;
      first_masked = i;
    }
  }
  // A token that may become a mask again is not final.
  const int final_end =
      rule_->remasks() && !scope_done ? std::max(scope_begin_, plan_.first_open) : first_masked;
  result->text = AdvanceText(std::min(final_end, first_masked), result->masked == 0);
  result->done = done();
  result->block = scope_;
  result->adapters = mix_;
  if (!done() && scope_done) {
    EnterNextScope();
  }
}

}  // namespace ruvd::inference::generation
