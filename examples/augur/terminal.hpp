#pragma once
// What a person sees while the text is made. Piped output gets none of this: only the text.

#include <augur/commit/apply.hpp>
#include <augur/types/error.hpp>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "output_file.hpp"

namespace augur::program {

/// What a stream may be sent. A dumb terminal (TERM=dumb, or none said) shows text alone; NO_COLOR keeps the live
/// lines, without colour.
struct stream_look {
    bool terminal = false;
    bool live = false;
    bool colour = false;
};
stream_look look_of(int descriptor);

/// Of the terminal that standard output is; 100 where it is none.
std::size_t columns_of_terminal();

/// A dim line on standard error for as long as it lives; on a terminal only.
class passing_note {
 public:
    explicit passing_note(std::string_view text);
    passing_note(const passing_note&) = delete;
    passing_note& operator=(const passing_note&) = delete;
    ~passing_note();

 private:
    bool shown_;
};

/// What a pass over many tokens ends with once Ctrl-C was pressed.
struct interrupted : error {
    interrupted() : error("interrupted by Ctrl-C") {}
};

/// While it lives, the first Ctrl-C is a wish to stop, which pressed() tells; the second ends the program.
class interruption {
 public:
    interruption();
    interruption(const interruption&) = delete;
    interruption& operator=(const interruption&) = delete;
    ~interruption();
    static bool pressed();
    static void check();  ///< throws interrupted if it was pressed
};

/// Prints text that a file or a model made: on a terminal control characters (C0 and C1) other than line feed and tab
/// show as '?'.
void print_text(std::string_view text);

/// While it lives, a terminal marks what is pasted, and shows control characters as they are, so that these marks are
/// not seen. A signal that ends the program undoes it.
class marked_pastes {
 public:
    static constexpr std::string_view begin = "\033[200~", end = "\033[201~";

    /// Nothing is done unless standard input and output are a terminal that takes more than text.
    marked_pastes();
    marked_pastes(const marked_pastes&) = delete;
    marked_pastes& operator=(const marked_pastes&) = delete;
    ~marked_pastes();

 private:
    bool marks_;
};

/// Writes tokens to standard output as they come: on a terminal above a line with the rate so far, and if asked
/// coloured by origin, below a legend; elsewhere the text alone (print_text).
class text_output {
 public:
    explicit text_output(stream_look look, bool by_origin = true, bool legend = true);

    /// `text` became final with a token of this origin.
    void show(origin from, std::string_view text);
    /// The last piece of text; afterwards the cursor is where the next line begins.
    void finish(std::string_view rest);

 private:
    std::string painted(origin from, std::string_view text);
    std::string status();
    void advance(std::string_view text);

    stream_look look_;
    bool by_origin_;
    std::optional<double> started_;
    double updated_ = 0;
    std::string rate_;
    std::size_t tokens_ = 0;
    std::size_t column_ = 0;
    bool status_visible_ = false;
    bool line_open_ = false;
};

}  // namespace augur::program
