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

/// Writes tokens to standard output as they come: on a terminal coloured by origin, below a legend and above a line
/// with the rate so far; elsewhere the text alone (print_text).
class text_output {
 public:
    explicit text_output(stream_look look, bool legend = true);

    /// `text` became final with a token of this origin.
    void show(origin from, std::string_view text);
    /// The last piece of text; afterwards the cursor is where the next line begins.
    void finish(std::string_view rest);

 private:
    std::string painted(origin from, std::string_view text);
    std::string status();
    void advance(std::string_view text);

    stream_look look_;
    std::optional<double> started_;
    double updated_ = 0;
    std::string rate_;
    std::size_t tokens_ = 0;
    std::size_t column_ = 0;
    bool status_visible_ = false;
    bool line_open_ = false;
};

}  // namespace augur::program
