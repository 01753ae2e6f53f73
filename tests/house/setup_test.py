"""cmake/setup.sh on machines that are not this one: each test puts together what is on the PATH."""

import pathlib
import shutil
import stat
import subprocess
import tempfile
import unittest

SETUP = pathlib.Path(__file__).resolve().parents[2] / "cmake" / "setup.sh"
INSTALL = "apt-get install -y -o DPkg::Lock::Timeout=600 --no-install-recommends"  # waits for other package managers
REQUIREMENTS = """setup_requirements() { cat <<'END'
build present-package  command -v bash
build some-package     command -v some-tool
test  other-package    command -v other-tool
END
}"""


class Setup(unittest.TestCase):
    def setUp(self):
        self.directory = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.directory)
        self.path = self.directory / "path"
        self.path.mkdir()
        for tool in ("bash", "cat", "mkdir", "tail", "nproc", "env", "chmod", "touch"):
            (self.path / tool).symlink_to(shutil.which(tool))

    def tool(self, name, script):
        path = self.path / name
        path.write_text(f"#!{shutil.which('bash')}\n{script}\n", encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def machine(self, user, apt=None, sudo=None):
        self.tool("id", f"echo {user}")
        if apt is not None:
            self.tool("apt-get", f'echo "apt-get $*" >>{self.directory}/calls\n{apt}')
        if sudo is not None:
            self.tool("sudo", sudo)

    def installs(self, *names):
        """What an apt-get does that makes these tools appear."""
        paths = [f"{self.path}/{name}" for name in names]
        return f'if [[ $1 == install ]]; then touch {" ".join(paths)}; chmod +x {" ".join(paths)}; fi'

    def run_setup(self, command):
        script = f"set -euo pipefail; . {SETUP}; {REQUIREMENTS}; {command}"
        return subprocess.run(
            [shutil.which("bash"), "-c", script],
            env={"PATH": str(self.path)},
            cwd=self.directory,
            capture_output=True,
            text=True,
            check=False,
        )

    def calls(self):
        calls = self.directory / "calls"
        return calls.read_text(encoding="utf-8").splitlines() if calls.exists() else []

    def test_where_all_is_there_it_says_and_does_nothing(self):
        self.machine(user=1000, apt="")
        self.tool("some-tool", "")
        run = self.run_setup("setup build")
        self.assertEqual((0, "", ""), (run.returncode, run.stdout, run.stderr))
        self.assertEqual([], self.calls())

    def test_root_installs_what_is_missing_and_says_so(self):
        self.machine(user=0, apt=self.installs("some-tool", "other-tool"))
        run = self.run_setup("setup build test")
        self.assertEqual(0, run.returncode, run.stderr)
        self.assertIn("Installing some-package other-package", run.stdout)
        self.assertEqual(
            ["apt-get update", f"{INSTALL} some-package other-package"], self.calls()
        )

    def test_only_what_is_needed_counts(self):
        self.machine(user=0, apt=self.installs("other-tool"))
        self.assertEqual(0, self.run_setup("setup test").returncode)
        self.assertEqual(f"{INSTALL} other-package", self.calls()[-1])

    def test_a_user_with_sudo_uses_it(self):
        self.machine(user=1000, apt=self.installs("some-tool"), sudo='shift; "$@"')
        self.assertEqual(0, self.run_setup("setup build").returncode)
        self.assertEqual(f"{INSTALL} some-package", self.calls()[-1])

    def test_a_user_without_sudo_is_told_the_command(self):
        self.machine(user=1000, apt="")
        run = self.run_setup("setup build")
        self.assertEqual(1, run.returncode)
        self.assertIn("Missing here: some-package", run.stderr)
        self.assertIn(f"{INSTALL} some-package", run.stderr)
        self.assertEqual([], self.calls())

    def test_another_system_is_told_the_names(self):
        self.machine(user=0)
        run = self.run_setup("setup build test")
        self.assertEqual(1, run.returncode)
        self.assertIn("some-package other-package", run.stderr)
        self.assertIn("package manager", run.stderr)

    def test_a_failing_installation_shows_its_log(self):
        self.machine(user=0, apt='echo "no route to the archive"; exit 100')
        run = self.run_setup("setup build")
        self.assertEqual(1, run.returncode)
        self.assertIn("no route to the archive", run.stderr)
        self.assertEqual(["apt-get update"], self.calls())

    def test_an_installation_that_does_not_help_is_an_error(self):
        self.machine(user=0, apt="")
        run = self.run_setup("setup build")
        self.assertEqual(1, run.returncode)
        self.assertIn("Still missing after installing them: some-package", run.stderr)


if __name__ == "__main__":
    unittest.main()
