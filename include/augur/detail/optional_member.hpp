#pragma once
// Detects whether a class has a member of some name, callable or not: a misspelled optional member is refused, not
// ignored.

#include <type_traits>

namespace augur::detail {

/// The members of T, and the one of `Name`. A name that T has, too, is ambiguous here.
template <class T, class Name>
struct with_name : T, Name {};

/// The members of T. The name of T itself is one, and a type, here.
template <class T>
struct just : T {};

/// Only these can be looked into so.
template <class T>
concept CanBeDerivedFrom = std::is_class_v<T> && !std::is_final_v<T>;

struct name_prepare {
    int prepare;
};
struct name_check {
    int check;
};
struct name_report {
    int report;
};
struct name_shows_rows {
    int shows_rows;
};
struct name_shows_matches {
    int shows_matches;
};
struct name_branches {
    int branches;
};
struct name_fills_trees {
    int fills_trees;
};
struct name_drafts_in_target {
    int drafts_in_target;
};
struct name_learn {
    int learn;
};
struct name_abandon {
    int abandon;
};
struct name_watch {
    int watch;
};
struct name_attach {
    int attach;
};
struct name_plan {
    int plan;
};
struct name_certain {
    int certain;
};
struct name_after_rejection {
    int after_rejection;
};
struct name_judge {
    int judge;
};
struct name_judge_tree {
    int judge_tree;
};
struct name_run {
    int run;
};
struct name_passes {
    int passes;
};
struct name_keep {
    int keep;
};
struct name_limits {
    int limits;
};
struct name_vocabulary_fingerprint {
    int vocabulary_fingerprint;
};

template <class T>
concept HasMemberPrepare = CanBeDerivedFrom<T> && !requires {
    &with_name<T, name_prepare>::prepare;
}
&&!requires {
    typename just<T>::prepare;
};
template <class T>
concept HasMemberCheck = CanBeDerivedFrom<T> && !requires {
    &with_name<T, name_check>::check;
}
&&!requires {
    typename just<T>::check;
};
template <class T>
concept HasMemberReport = CanBeDerivedFrom<T> && !requires {
    &with_name<T, name_report>::report;
}
&&!requires {
    typename just<T>::report;
};
template <class T>
concept HasMemberShowsRows = CanBeDerivedFrom<T> && !requires {
    &with_name<T, name_shows_rows>::shows_rows;
}
&&!requires {
    typename just<T>::shows_rows;
};
template <class T>
concept HasMemberShowsMatches = CanBeDerivedFrom<T> && !requires {
    &with_name<T, name_shows_matches>::shows_matches;
}
&&!requires {
    typename just<T>::shows_matches;
};
template <class T>
concept HasMemberBranches = CanBeDerivedFrom<T> && !requires {
    &with_name<T, name_branches>::branches;
}
&&!requires {
    typename just<T>::branches;
};
template <class T>
concept HasMemberFillsTrees = CanBeDerivedFrom<T> && !requires {
    &with_name<T, name_fills_trees>::fills_trees;
}
&&!requires {
    typename just<T>::fills_trees;
};
template <class T>
concept HasMemberDraftsInTarget = CanBeDerivedFrom<T> && !requires {
    &with_name<T, name_drafts_in_target>::drafts_in_target;
}
&&!requires {
    typename just<T>::drafts_in_target;
};
template <class T>
concept HasMemberLearn = CanBeDerivedFrom<T> && !requires {
    &with_name<T, name_learn>::learn;
}
&&!requires {
    typename just<T>::learn;
};
template <class T>
concept HasMemberAbandon = CanBeDerivedFrom<T> && !requires {
    &with_name<T, name_abandon>::abandon;
}
&&!requires {
    typename just<T>::abandon;
};
template <class T>
concept HasMemberWatch = CanBeDerivedFrom<T> && !requires {
    &with_name<T, name_watch>::watch;
}
&&!requires {
    typename just<T>::watch;
};
template <class T>
concept HasMemberAttach = CanBeDerivedFrom<T> && !requires {
    &with_name<T, name_attach>::attach;
}
&&!requires {
    typename just<T>::attach;
};
template <class T>
concept HasMemberPlan = CanBeDerivedFrom<T> && !requires {
    &with_name<T, name_plan>::plan;
}
&&!requires {
    typename just<T>::plan;
};
template <class T>
concept HasMemberCertain = CanBeDerivedFrom<T> && !requires {
    &with_name<T, name_certain>::certain;
}
&&!requires {
    typename just<T>::certain;
};
template <class T>
concept HasMemberAfterRejection = CanBeDerivedFrom<T> && !requires {
    &with_name<T, name_after_rejection>::after_rejection;
}
&&!requires {
    typename just<T>::after_rejection;
};
template <class T>
concept HasMemberJudge = CanBeDerivedFrom<T> && !requires {
    &with_name<T, name_judge>::judge;
}
&&!requires {
    typename just<T>::judge;
};
template <class T>
concept HasMemberJudgeTree = CanBeDerivedFrom<T> && !requires {
    &with_name<T, name_judge_tree>::judge_tree;
}
&&!requires {
    typename just<T>::judge_tree;
};
template <class T>
concept HasMemberRun = CanBeDerivedFrom<T> && !requires {
    &with_name<T, name_run>::run;
}
&&!requires {
    typename just<T>::run;
};
template <class T>
concept HasMemberPasses = CanBeDerivedFrom<T> && !requires {
    &with_name<T, name_passes>::passes;
}
&&!requires {
    typename just<T>::passes;
};
template <class T>
concept HasMemberKeep = CanBeDerivedFrom<T> && !requires {
    &with_name<T, name_keep>::keep;
}
&&!requires {
    typename just<T>::keep;
};

template <class T>
concept HasMemberLimits = CanBeDerivedFrom<T> && !requires {
    &with_name<T, name_limits>::limits;
}
&&!requires {
    typename just<T>::limits;
};

template <class T>
concept HasMemberVocabularyFingerprint = CanBeDerivedFrom<T> && !requires {
    &with_name<T, name_vocabulary_fingerprint>::vocabulary_fingerprint;
}
&&!requires {
    typename just<T>::vocabulary_fingerprint;
};

/// A flag can be read when it is compiled.
template <bool Value>
struct flag {
    static constexpr bool value = Value;
};

}  // namespace augur::detail
