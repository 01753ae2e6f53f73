#pragma once
// The concepts on one page.
//
//   Model                 scores tokens after a prefix and can take them back        model/concepts.hpp
//     ScoresLastRows        computes only the rows that are needed
//     HiddenStateModel      shows its last hidden states
//     RunsPasses            is asked by passes: chains, trees, parts of layers, several texts
//       TreeModel             scores a tree of tokens in one pass
//       PrefillsStates        makes hidden states without rows
//       SplitModel            runs its lower and upper layers apart
//         LayerInputModel           shows what the last of the lower layers was made of
//       BatchModel            runs many sequences in one pass
//     FusedModel            takes tokens with hidden states
//   Drafter               makes a proposal after a prefix                            draft/concept.hpp
//     ReadsStates         reads the target's hidden states
//     DraftsInTarget      drafts in the target's own sequence
//       FillsTarget       brings it to a prompt, too
//   ExitHead              one row of logits from a hidden state after some layers  draft/exit_head.hpp
//   AttendingHead         the same from all hidden states so far                    draft/exit_head.hpp
//   SpeculationPolicy     decides how far to guess                                   policy/concept.hpp
//     LearnsFromOutcomes    is told what became of each round
//   AcceptanceCriterion   accepts drafted tokens, or replaces them                   accept/concept.hpp
//   SwitchingPolicy       decides which model writes                                 switching/scheme.hpp
//   Chooser               makes every random decision                                random/chooser.hpp
//   Lossless              output distribution, or text, equals plain decoding's      types/guarantee.hpp

#include "augur/accept/concept.hpp"
#include "augur/draft/concept.hpp"
#include "augur/draft/exit_head.hpp"
#include "augur/model/concepts.hpp"
#include "augur/policy/concept.hpp"
#include "augur/random/chooser.hpp"
#include "augur/switching/scheme.hpp"
#include "augur/types/guarantee.hpp"
