#pragma once
// Whoever drafts for the target: a file that the user names, or the draft checkpoint of a draft bundle that was made
// for this model.

#include <augur/draft/ngram_table.hpp>
#include <augur/io/files/bank_file.hpp>
#include <augur/llama/draft_heads.hpp>
#include <augur/llama/eagle_model.hpp>
#include <augur/llama/host_exit.hpp>
#include <augur/llama/host_model.hpp>
#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "learning.hpp"

namespace augur::program {

/// As far as the scheme uses them.
struct draft_checkpoints {
    std::optional<llama::host_model> draft, qualifier;
    std::vector<std::unique_ptr<llama::host_model>> more;  ///< of cascade and ead, after the first: cheapest first
    std::optional<llama::eagle_model> eagle;               ///< or of mtp the target's own layer
    std::optional<llama::draft_heads> heads;
    std::optional<llama::host_exit> exit;
    std::unique_ptr<learned_exit> learned;                 ///< of kangaroo with an adapter, and dvi, which trains it
    std::unique_ptr<learned_exit_layer> learned_layer;     ///< in its place, where the adapter is of the layer, too
    std::unique_ptr<learned_attending> learned_attention;  ///< in theirs, where it is of the layer's attention, too
    std::optional<draft::ngram_table> ngrams;

    std::size_t memory_bytes() const;
};

/// Files by what they are used as: draft (which an exit and a qualifier are, too, where the scheme has no other use for
/// it), qualifier, exit, eagle, medusa, hydra or ngram; mtp, the target's own.
using checkpoint_files = std::map<std::string, std::string>;

/// What the draft models of cascade and ead are used as: draft, "draft 2", "draft 3", ..., cheapest first.
std::string draft_number(std::size_t number);
/// All of these that are there, in order.
std::vector<std::string> numbered_drafts(const checkpoint_files& files);

/// The files that the user names, for this scheme. Throws where one of `heads` says that it is nothing of the kind, or
/// two are the same.
checkpoint_files named_checkpoints(const std::vector<std::string>& drafts, const std::vector<std::string>& heads,
                                   const std::string& scheme);

/// Which states the target in this file has to show for the layer that is named: those of an EAGLE-3 layer as it is
/// published, in a folder; none for others, which read the last one. Cost: the files' headers.
std::vector<std::size_t> taps_for(const checkpoint_files& named, const std::string& target_path);

/// Whom trees of the loaded heads, layer or draft model are grown for; of the latter there can be any depth.
io::bank_identity bank_identity_of(const llama::host_model& target, const draft_checkpoints& loaded,
                                   const checkpoint_files& files);

/// The files that a command reads, and the draft checkpoints of all draft bundles: any of these may be what a search
/// finds, so none is written over.
std::vector<std::filesystem::path> with_checkpoints(std::vector<std::filesystem::path> inputs);

/// Of each kind the draft checkpoint that a draft bundle has for the target of this fingerprint, as load_checkpoints
/// finds it.
std::vector<std::string> checkpoints_for(const std::string& target);

/// The tokens, ascending, that the head of a draft checkpoint in this file has rows for; none where it has all. Throws
/// where it was made for another target.
std::vector<token> head_tokens_in(const std::string& path, const llama::host_model& target);

/// The same of the first draft checkpoint that a draft bundle of the target has: exit, eagle, draft, hydra or medusa;
/// one that cannot be read is skipped with a warning. None where there is none.
std::vector<token> head_tokens_of_bundle(const llama::host_model& target);

/// Loads what the scheme drafts with: the files that are named, else those of a draft bundle that were made for the
/// target; one of these that cannot be loaded is skipped with a warning. Families are the folders inside those in
/// AUGUR_FAMILY, separated by colons, or, if that is not set, inside the library's own. `exit_layer`: which exit, if
/// the scheme drafts with one; 0 for the one near three quarters of the layers. What a lossless scheme drafts with is
/// held in four bits where its file has eight, others as their files hold them; exits and qualifiers, which borrow most
/// of the target, and models that are no draft checkpoints as `options` say. Where there is none of the first kind, it
/// throws if that is `required`, else nothing is loaded; it throws where there is no qualifier, and where a model that
/// drafts has other tokens than the target, whose file is `target_path`. Returns the files.
checkpoint_files load_checkpoints(draft_checkpoints& into, const std::string& scheme, bool required,
                                  const checkpoint_files& named, const llama::host_model& target,
                                  const std::string& target_path, const llama::load_options& options,
                                  std::size_t exit_layer = 0);

}  // namespace augur::program
