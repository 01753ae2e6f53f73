#pragma once
// What llama.cpp says when something fails, for the text of our errors.

#include <llama.h>

#include <string>
#include <string_view>
#include <utility>

#include "augur/types/error.hpp"

namespace augur::engines::llama_cpp {

/// Listens to llama.cpp on this thread while it lives; of several, the innermost does. The first one initializes
/// llama.cpp, and from then on it prints nothing. Whoever sets another log callback afterwards gets the log, and our
/// errors lack llama.cpp's reasons. Cost: nothing from the heap unless something is said.
class complaints {
 public:
    complaints() : outer_(std::exchange(listening(), this)) { initialize(); }
    complaints(const complaints&) = delete;
    complaints& operator=(const complaints&) = delete;
    ~complaints() { listening() = outer_; }

    /// Once in a process, however often it is called.
    static void initialize() {
        [[maybe_unused]] static const bool once = (llama_log_set(&hear, nullptr), llama_backend_init(), true);
    }

    /// Throws augur::error: `what`, and then llama.cpp's errors, or else its warnings.
    template <class... What>
    [[noreturn]] void fail(const What&... what) const {
        const std::string& said = errors_.empty() ? warnings_ : errors_;
        augur::detail::fail(what..., said.empty() ? "" : "; llama.cpp says: ", as_line(said));
    }

 private:
    static complaints*& listening() {
        static thread_local complaints* heard_by = nullptr;
        return heard_by;
    }

    static void hear(ggml_log_level level, const char* text, void*) {
        complaints* const here = listening();
        if (here == nullptr) return;
        if (level != GGML_LOG_LEVEL_CONT) here->last_ = level;
        try {
            if (here->last_ == GGML_LOG_LEVEL_ERROR) here->errors_ += text;
            if (here->last_ == GGML_LOG_LEVEL_WARN) here->warnings_ += text;
        } catch (...) {  // no memory: callers are C
        }
    }

    /// Lines joined by semicolons, without space at either end.
    static std::string as_line(std::string_view said) {
        std::string line;
        while (!said.empty()) {
            const std::string_view one = said.substr(0, said.find('\n'));
            said.remove_prefix(one.size() + (one.size() < said.size() ? 1 : 0));
            if (one.find_first_not_of(" \t") == std::string_view::npos) continue;
            line += (line.empty() ? "" : "; ");
            line += one;
        }
        return line;
    }

    complaints* outer_;
    std::string errors_, warnings_;
    ggml_log_level last_ = GGML_LOG_LEVEL_NONE;
};

}  // namespace augur::engines::llama_cpp
