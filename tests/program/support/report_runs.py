"""What reports are tested with."""

from program import DRAFT, TARGET

HOSTILE = "a</script><script>alert(1)</script><!-- <script> \u2028 & 'b'"
LENGTH = ("--max-tokens", 40, "--ignore-eos")
SCHEMES = {
    "plain": (), "lookup": (), "sd": ("--draft", DRAFT), "eaad": ("--draft", DRAFT), "hysteresis": ("--draft", DRAFT),
    "fsd": ("--draft", DRAFT), "psd_f": ("--draft", DRAFT, "--draft", TARGET), "ead": ("--draft", DRAFT, "--thresholds", 7.25, "--dwell", 2, "--window", 1),
    "kangaroo": ("--untrained", "--exit-layer", 1, "--thresholds", 0), "dvi": ("--exit-layer", 1),
}  # fmt: skip
