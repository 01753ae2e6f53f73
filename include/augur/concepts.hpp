#pragma once
// The concepts on one page: every one that users model or name, and the header that states it with its laws.
//
//   model/concepts.hpp
//     Model                   scores tokens after a prefix and can take them back
//       SequenceIsAnObject      which owns its cache
//       SequenceCanBeMoved      constructed and assigned
//       MembersAreConst         what changes is the sequence
//       RowsAreNoPointer        they know how many they are
//       HasPassLimits           says what its passes are bound by
//       ScoresLastRows          computes only the rows that are needed
//       HiddenStateModel        shows its last hidden states
//       RunsPasses              is asked by passes: chains, trees, parts of layers, several texts
//         TreeModel               scores a tree of tokens in one pass
//         PrefillsStates          makes hidden states without rows
//         SplitModel              runs its lower and upper layers apart
//           LayerInputModel         shows what the last of the lower layers was made of
//         BatchModel              runs many sequences in one pass
//     FusedModel              takes tokens with hidden states
//       FusedTreeModel          scores a tree of such inputs in one pass
//     HasVocabularyFingerprint  is known again by its tokens
//     SavesSequences          appends tokens, saves and loads states, and cannot rewind
//   model/cache_bytes.hpp
//     CountsCacheBytes        says what a sequence's cache takes, before it is made
//   model/device_verifier.hpp
//     VerifiesOnDevice        judges rows where they are made
//   draft/concept.hpp
//     Drafter                 makes a proposal after a prefix
//       MakesDraftState         what it keeps for a text
//       FillsProposal           at once, or in steps
//       HearsCommits            follows the text by its tokens
//       ReadsStates             reads the target's hidden states
//       DraftsInTarget          drafts in the target's own sequence
//         FillsTarget             brings it to a prompt, too
//   draft/exit_head.hpp
//     ExitHead                one row of logits from a hidden state after some layers
//     AttendingHead           the same from all hidden states so far
//     DraftHeads              rows of several tokens ahead from one hidden state
//   draft/draw_next.hpp
//     AwaitsSelector          becomes a drafter by a token selector
//   policy/concept.hpp
//     SpeculationPolicy       decides how far to guess
//       Plans                   by a plan: a length, a tree, or a budget for one
//       LearnsFromOutcomes      is told what became of each round
//   accept/concept.hpp
//     AcceptanceCriterion     accepts drafted tokens, or replaces them
//       AcceptanceCriterionFor  of one kind of draft distribution
//       StatesGuarantee         says what decoding with it promises
//       AcceptsTokens           whether a drafted token is accepted
//       DrawsToken              the token that follows
//       ReturnsVerdict          judges a chain as a whole
//       JudgesTrees             judges a tree as a whole
//       KeepsStorage            keeps memory from round to round
//   measure/concept.hpp
//     Divergence              how far one distribution is from another
//   switching/concept.hpp
//     SwitchingPolicy         decides which model writes
//     TextCodec               brings text from one vocabulary to another
//   random/chooser.hpp
//     Chooser                 makes every random decision
//       Weights                 what it chooses by
//   types/guarantee.hpp
//     Guarantee               what decoding can promise
//     Lossless                output distribution, or text, equals plain decoding's

#include "augur/accept/concept.hpp"
#include "augur/draft/concept.hpp"
#include "augur/draft/draw_next.hpp"
#include "augur/draft/exit_head.hpp"
#include "augur/measure/concept.hpp"
#include "augur/model/cache_bytes.hpp"
#include "augur/model/device_verifier.hpp"
#include "augur/switching/concept.hpp"
