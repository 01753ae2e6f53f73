#!/usr/bin/env bash
# Installs what is missing (Debian, as root or with sudo), builds the program `augur`, fetches a small model, and lets it
# answer twice: guessing ahead, and plainly. The text is the same; the time is not.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. cmake/setup.sh

setup build fetch
step "Configuring (log: $setup_log)" cmake --preset demo
echo "== Building the program"
cmake --build --preset demo
echo "== Fetching the model"
model=$(python3 examples/fetch.py smollm2)
augur=build/demo/bin/augur

echo "== Decoding with guesses looked up in the text so far, and plainly"
"$augur" generate --model "$model" --chat --scheme lookup --compare --max-tokens 200 --report build/report.html --prompt "Rewrite this Python class with a type annotation on every argument:

class Vector:
    def __init__(self, x, y):
        self.x = x
        self.y = y
    def add(self, other):
        return Vector(self.x + other.x, self.y + other.y)
    def sub(self, other):
        return Vector(self.x - other.x, self.y - other.y)
    def mul(self, other):
        return Vector(self.x * other.x, self.y * other.y)"

cat <<END

Why it was as fast as it was, round by round: open build/report.html in a browser.

The program is $augur, the model $model. More to try:
  $augur chat -m $model
  $augur generate -m $model --chat -p "Why is the sky blue?" --temperature 0.7 --report sky.html
  $augur generate --help
END
