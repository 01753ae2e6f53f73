#pragma once
// UTF-8 helpers of readers and tokenizers, shared with the core.

#include <augur/types/utf8.hpp>

namespace augur::io {

using augur::detail::check_utf8;
using augur::detail::find_invalid_utf8;
using augur::detail::first_code_point;
using augur::detail::repair_utf8;
using augur::detail::utf8_start;
using augur::detail::utf8_state;

}  // namespace augur::io
