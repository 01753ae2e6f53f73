#include "terminal.hpp"

#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cwchar>

#include "message.hpp"

namespace augur::program {
namespace {

constexpr std::string_view dim = "\033[2m", undo = "\033[0m", clear_below = "\033[J", clear_right = "\033[K";
constexpr std::string_view down_and_up = "\033D\033M";  // scrolls where there is no line below
constexpr std::string_view save = "\0337", restore = "\0338", next_line = "\033[B\r";
constexpr double seconds_between_updates = 0.2;
volatile sig_atomic_t wished = 0;  // by Ctrl-C: to stop
struct sigaction action_before;

std::string_view colour_of(origin from) {
    constexpr std::array<std::string_view, 4> colours = {"\033[32m", "\033[33m", "\033[36m", ""};
    return colours[static_cast<std::size_t>(from)];
}

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// A model's text must not drive the terminal.
std::string harmless(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto code = static_cast<unsigned char>(text[i]);
        const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
        const bool c1 = code == 0xc2 && next >= 0x80 && next < 0xa0;  // two bytes of UTF-8
        const bool c0 = (code < 0x20 && code != '\n' && code != '\t') || code == 0x7f;
        out += c0 || c1 ? '?' : text[i];
        if (c1) ++i;
    }
    return out;
}

winsize size_of_terminal() {
    winsize size{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return winsize{};
    return size;
}

}  // namespace

std::size_t columns_of_terminal() {
    const std::size_t columns = size_of_terminal().ws_col;
    return columns == 0 ? 100 : columns;
}

stream_look look_of(int descriptor) {
    const char* const terminal = std::getenv("TERM");
    const char* const no_colour = std::getenv("NO_COLOR");
    stream_look look;
    look.terminal = ::isatty(descriptor) == 1;
    look.live = look.terminal && terminal && std::string_view(terminal) != "dumb";
    look.colour = look.live && (!no_colour || *no_colour == '\0');
    return look;
}

passing_note::passing_note(std::string_view text) : shown_(look_of(STDERR_FILENO).live) {
    const bool colour = look_of(STDERR_FILENO).colour;
    if (!shown_) return;
    std::fprintf(stderr, "%s%s%s", colour ? "\033[2m" : "", one_line(text, 80).c_str(), colour ? "\033[0m" : "");
}

passing_note::~passing_note() {
    if (shown_) std::fputs("\r\033[K", stderr);
}

interruption::interruption() {
    wished = 0;
    struct sigaction wish {};
    wish.sa_handler = [](int number) {
        wished = 1;
        ::sigaction(number, &action_before, nullptr);
    };
    wish.sa_flags = SA_RESTART;
    ::sigaction(SIGINT, nullptr, &action_before);
    if (action_before.sa_handler != SIG_IGN) ::sigaction(SIGINT, &wish, nullptr);
}

interruption::~interruption() {
    ::sigaction(SIGINT, &action_before, nullptr);
    wished = 0;
}

bool interruption::pressed() {
    return wished != 0;
}

void interruption::check() {
    if (pressed()) throw interrupted();
}

void print_text(std::string_view text) {
    look_of(STDOUT_FILENO).terminal ? print(harmless(text)) : print(text);
}

text_output::text_output(stream_look look, bool with_legend) : look_(look) {
    if (!look_.live) return;
    std::setlocale(LC_CTYPE, "C.UTF-8");  // for the width of characters
    if (!look_.colour || !with_legend) return;
    std::string legend;
    for (const origin from : {origin::accepted, origin::correction, origin::bonus, origin::plain}) {
        legend.append(legend.empty() ? "" : "   ")
            .append(colour_of(from))
            .append("\u25cf ")
            .append(name_of(from))
            .append(undo);
    }
    print(legend + "\n\n");
}

void text_output::show(origin from, std::string_view text) {
    ++tokens_;
    if (!look_.live) return print_text(text);
    std::string out;
    if (status_visible_) out += clear_below;
    status_visible_ = false;
    out += painted(from, text);
    out += status();
    print(out);
}

void text_output::finish(std::string_view rest) {
    if (!look_.live) return print_text(rest);
    std::string out(status_visible_ ? clear_below : "");
    out += painted(origin::plain, rest);
    print(line_open_ ? out + "\n" : out);
}

std::string text_output::painted(origin from, std::string_view text) {
    const std::string safe = harmless(text);
    if (!safe.empty()) line_open_ = safe.back() != '\n';
    advance(safe);
    const std::string_view colour = look_.colour && !safe.empty() ? colour_of(from) : "";
    return colour.empty() ? safe : std::string(colour).append(safe).append(undo);
}

/// The rate, on the line below the text: room for it is made by going down and up again, then the cursor is saved, the
/// line written, the cursor restored. Not where the text has just filled a line, for there terminals disagree on the
/// cursor.
std::string text_output::status() {
    const double time = now();
    if (!started_) started_ = time;
    if (time - updated_ >= seconds_between_updates && time - *started_ >= seconds_between_updates) {
        char text[64];
        std::snprintf(text, sizeof text, "%.1f tokens/s, %zu tokens", double(tokens_ - 1) / (time - *started_),
                      tokens_);
        rate_ = text;
        updated_ = time;
    }
    const winsize size = size_of_terminal();
    if (rate_.empty() || size.ws_row < 3 || size.ws_col <= rate_.size()) return {};
    if (column_ != 0 && column_ % size.ws_col == 0) return {};
    status_visible_ = true;
    std::string out;
    out.append(down_and_up).append(save).append(next_line);
    if (look_.colour) out.append(dim);
    out.append(rate_);
    if (look_.colour) out.append(undo);
    return out.append(clear_right).append(restore);
}

/// Counts the columns that the text takes since the last line feed.
void text_output::advance(std::string_view text) {
    std::mbstate_t state{};
    while (!text.empty()) {
        wchar_t letter = 0;
        const std::size_t length = std::mbrtowc(&letter, text.data(), text.size(), &state);
        if (length == 0 || length > text.size()) return;
        const int width = ::wcwidth(letter);
        if (letter == L'\n') column_ = 0;
        if (letter == L'\t') column_ += 8 - column_ % 8;
        if (width > 0) column_ += static_cast<std::size_t>(width);
        text.remove_prefix(length);
    }
}

}  // namespace augur::program
