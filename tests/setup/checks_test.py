#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The checks under tools/ must find what they are for: each is run on a small tree that breaks it."""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]


def run(tool: str, *arguments: str) -> tuple[int, str]:
    done = subprocess.run([TOP / "tools" / tool, *arguments], capture_output=True, text=True,
                          check=False)
    return done.returncode, done.stdout + done.stderr


class TreeTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.top = Path(folder.name)

    def write(self, name: str, text: str) -> None:
        (self.top / name).parent.mkdir(parents=True, exist_ok=True)
        (self.top / name).write_text(text)


class Usage(unittest.TestCase):
    def test_what_is_mistyped_is_not_passed_on(self):
        for tool, *arguments in (("test", "--al"), ("test", "all"), ("test", "-all"), ("test", "-R", "x", "--all"), ("build", "relese"), ("build", "--list")):
            code, output = run(tool, *arguments)
            self.assertEqual((code, "usage: tools/" + tool in output), (2, True), f"{tool} {arguments}: {output[:300]}")


class OneDefinition(TreeTest):
    def problems(self, *units: str) -> tuple[int, str]:
        for number, text in enumerate(units):
            self.write(f"{number}.cc", text)
            subprocess.run(["c++", "-O0", "-c", f"{number}.cc"], cwd=self.top, check=True)
            subprocess.run(["ar", "rcs", f"libgopmill_{number}.a", f"{number}.o"], cwd=self.top, check=True)
        return run("check_definitions", str(self.top))

    def test_a_source_must_not_replace_what_a_header_defines(self):
        header = "inline int Read(int x) { return x; } int {}() { return Read(1); }"
        one, two = header.replace("{}()", "One()"), header.replace("{}()", "Two()")
        self.assertEqual(self.problems(one, two, "static int Read(int x) { return -x; } int Three() { return Read(1); }"),
                         (0, ""))
        code, output = self.problems(one, two, "int Read(int x) { return -x; }")
        self.assertEqual(code, 1)
        self.assertIn("Read(int) is defined more than once", output)
        self.assertIn("libgopmill_2.a[2.o]: in the source", output)

    def test_nothing_built_is_no_pass(self):
        self.assertEqual(run("check_definitions", str(self.top))[0], 1)


class Failures(TreeTest):
    """A real ctest with tests of its own: what is read is how this version of ctest prints."""

    def told(self, **tests: str) -> str:
        lines = "".join(f'add_test({name} sh -c "{command}")\nset_tests_properties({name} PROPERTIES SKIP_RETURN_CODE 77)\n'
                        for name, command in tests.items())
        self.write("CTestTestfile.cmake", lines)
        done = subprocess.run(["ctest", "--output-on-failure", "-j", "2"], cwd=self.top, capture_output=True, text=True, check=False)
        self.write("log", done.stdout)
        code, output = run("test_failures", str(self.top / "log"))
        self.assertEqual(code, 0, output)
        return output

    def test_are_told_with_their_reasons_and_the_summary_last(self):
        output = self.told(good="echo Error: of no importance", bad="seq 30; echo FAIL too few pictures; seq 40 90; exit 1",
                           silent="seq 200; kill -9 $$", nested="echo 50% tests passed; echo FAIL in it; exit 1", left="exit 77")
        self.assertIn("bad: Failed", output)
        self.assertIn("  FAIL too few pictures\n  40\n", output)
        self.assertIn("silent: Subprocess killed", output)
        self.assertIn("  199\n  200\n", output)
        for word in ("importance", "  30\n", "  90\n", "  150\n"):
            self.assertNotIn(word, output)
        self.assertNotIn("left", output[:output.index("40% tests passed")])
        self.assertIn("  FAIL in it", output)
        self.assertLess(output.index("FAIL too few"), output.index("40% tests passed, 3 tests failed out of 5"))
        self.assertRegex(output, r"The following tests FAILED:\n\s+\d+ - bad \(Failed\)")

    def test_are_none(self):
        self.assertEqual(self.told(good="echo FAIL", left="exit 77"), "")


class IncludeFence(TreeTest):
    def problems(self, name: str, *headers: str) -> list[str]:
        self.write(name, "".join(f"#include {header}\n" for header in headers))
        code, output = run("check_includes", str(self.top))
        (self.top / name).unlink()
        lines = [line for line in output.splitlines() if line.startswith(name)]
        self.assertEqual(code, 1 if lines else 0, output)
        return lines

    def test_accepts_what_lies_inside(self):
        self.assertEqual(self.problems("scheduler/a.cc", '"scheduler/a.h"', '"base/ids.h"',
                                       "<vector>", "<event_like>"), [])
        self.assertEqual(self.problems("codec/a.cc", '"media/plan.h"', "<libavcodec/avcodec.h>"), [])
        self.assertEqual(self.problems("server/http/a.cc", "<event2/event.h>",
                                       '"server/api/service.h"', '"config/users.h"'), [])
        self.assertEqual(self.problems("scheduler/topology_hwloc.cc", "<hwloc.h>"), [])
        self.assertEqual(self.problems("base/log.cc", "<nlohmann/json.hpp>"), [])
        self.assertEqual(self.problems("media/a.h", "<nlohmann/json_fwd.hpp>"), [])

    def test_refuses_each_forbidden_neighbour(self):
        for name, header in [
                ("base/a.h", '"media/plan.h"'), ("scheduler/a.cc", '"codec/x.h"'),
                ("scheduler/a.cc", '"media/plan.h"'), ("codec/a.cc", '"scheduler/x.h"'),
                ("media/a.cc", '"codec/x.h"'), ("media/a.cc", '"scheduler/x.h"'),
                ("config/a.cc", '"server/http/x.h"'), ("codec/a.cc", '"server/x.h"'),
                ("server/a.cc", '"tests/x.h"'), ("base/a.cc", '"../media/plan.h"'),
                ("server/stream/a.cc", '"server/segments/x.h"'), ("server/segments/a.cc", '"server/live/x.h"'),
                ("server/live/a.h", '"server/service/x.h"'), ("server/rtsp/a.cc", '"server/live/x.h"'),
                ("server/unheard/a.cc", '"server/api/service.h"')]:
            with self.subTest(file=name, header=header):
                self.assertEqual(len(self.problems(name, header)), 1)

    def test_refuses_each_library_outside_its_place(self):
        for name, header in [
                ("scheduler/a.cc", "<libavutil/frame.h>"), ("server/http/a.cc", '"libavutil/log.h"'),
                ("server/stream/a.cc", "<event2/buffer.h>"), ("scheduler/topology.cc", "<hwloc.h>"),
                ("server/http/a.cc", "<gst/gst.h>"), ("server/http/a.cc", '"server/stream/engine.h"'),
                ("server/http/a.h", "<nlohmann/json.hpp>"), ("media/a.cc", "<nlohmann/json.hpp>"),
                ("media/a.cc", "<boost/beast.hpp>"), ("base/a.cc", "<gtest/gtest.h>")]:
            with self.subTest(file=name, header=header):
                self.assertEqual(len(self.problems(name, header)), 1)

    def test_finds_an_include_behind_blanks(self):
        self.write("base/a.cc", "int a;\n  #  include <hwloc.h>\n")
        code, output = run("check_includes", str(self.top))
        self.assertEqual(code, 1)
        self.assertIn("base/a.cc:2:", output)

    def test_finds_calls_of_ffmpeg_through_headers_of_ours(self):
        self.write("server/a.cc", "void F() { av_packet_unref(&p); }\nauto x = g(sws_scale(c));\nint y = avio_tell(io);\n")
        code, output = run("check_includes", str(self.top))
        self.assertEqual(code, 1)
        for number, name in enumerate(("av_packet_unref", "sws_scale", "avio_tell"), start=1):
            self.assertIn(f"server/a.cc:{number}: {name}: FFmpeg may be called only by", output)

    def test_accepts_calls_where_they_belong_and_what_is_none(self):
        self.write("media/a.cc", "void F() { av_packet_unref(&p); }\n")
        self.write("tests/unit/a.cc", "void F() { avcodec_open2(c); }\n")
        self.write("server/a.cc", '// As av_packet_ref() does.\nlog("av_read_frame()");\nint n = available_workers() + average_bps();\n'
                                  "AVPacket& p = *av::Ref(q);\nauto* free = &av_frame_free;\nmy_av_call();\n")
        self.assertEqual(run("check_includes", str(self.top))[0], 0)

    def test_an_empty_tree_is_a_mistake(self):
        self.assertEqual(run("check_includes", str(self.top))[0], 2)


class SizeBudget(TreeTest):
    @staticmethod
    def function(lines: int) -> str:
        return "int F(int a,\n      int b) {\n" + "  a += b;\n" * (lines - 3) + "}\n"

    def test_accepts_files_and_functions_at_the_limit(self):
        self.write("base/a.cc", self.function(80) + "int x = 0;\n" * 720)
        code, output = run("check_sizes", str(self.top))
        self.assertEqual(code, 0, output)
        self.assertIn("1 functions", output)

    def test_refuses_one_line_more(self):
        self.write("base/a.cc", "namespace n {\n" + self.function(81) + "}  // namespace n\n")
        self.write("base/b.cc", "int x = 0;\n" * 801)
        code, output = run("check_sizes", str(self.top))
        self.assertEqual(code, 1)
        self.assertIn("base/a.cc:2: a function of 81 lines", output)
        self.assertIn("base/b.cc: 801 lines", output)

    def test_counts_methods_inside_classes(self):
        body = "class C {\n public:\n  explicit C(int a)\n      : a_(a) {\n" + "    f();\n" * 90
        self.write("base/a.h", body + "  }\n};\n")
        self.assertIn("a function of 93 lines", run("check_sizes", str(self.top))[1])

    def test_braces_in_strings_do_not_count(self):
        self.write("base/a.cc", 'void F() {\n  G("{{{");\n}\n' + "int x;\n" * 100)
        self.assertEqual(run("check_sizes", str(self.top))[0], 0)


class Format(TreeTest):
    def test_tells_good_from_bad(self):
        self.write("good.cc", "int a = 0;\n")
        self.write("bad.cc", "int  a=0;\n")
        self.write(".clang-format", "BasedOnStyle: Google\n")
        self.assertEqual(run("check_format", str(self.top / "good.cc"))[0], 0)
        self.assertEqual(run("check_format", str(self.top / "bad.cc"))[0], 1)


class Commits(TreeTest):
    def setUp(self):
        super().setUp()
        self.write("tools/x", "")
        for tool in ("check_commits", "check_format"):
            shutil.copy(TOP / "tools" / tool, self.top / "tools")
        self.git("init", "--quiet")

    def git(self, *arguments: str) -> None:
        subprocess.run(["git", "-C", str(self.top), "-c", "user.name=n", "-c", "user.email=e", *arguments], check=True)

    def problems(self, *arguments: str, tool: str = "check_commits") -> tuple[int, str]:
        done = subprocess.run([self.top / "tools" / tool, *arguments], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def test_say_what_and_why(self):
        for message, problem in (("a: Do it\n\nSince it helps.", ""), ("a: Do it", "no reason"), ("a: Do it\nfor me", "no empty line"),
                                 ("Do it\n\nSince it helps.", "not of the form"), ("a: Do it.\n\nSince it helps.", "period"),
                                 ("a: Do " + 70 * "x" + "\n\nSince it helps.", "76 characters")):
            with self.subTest(message):
                self.git("commit", "--quiet", "--allow-empty", "--message", message)
                code, output = self.problems()
                self.assertEqual((code, problem in output), (1 if problem else 0, True), output)

    def test_none_are_no_pass(self):
        self.assertNotEqual(self.problems()[0], 0)
        self.git("commit", "--quiet", "--allow-empty", "--message", "a: Do it\n\nSince it helps.")
        for words in (["nonsense"], ["HEAD..HEAD"]):
            self.assertEqual(self.problems(*words)[0], 2)

    def test_no_sources_are_not_formatted(self):
        code, output = self.problems(tool="check_format")
        self.assertEqual(code, 2, output)
        self.assertIn("no sources", output)


class Packages(unittest.TestCase):
    def test_lists_a_section_and_refuses_an_unknown_one(self):
        code, output = run("install_packages", "--list", "build")
        self.assertEqual(code, 0)
        self.assertIn("libavcodec-dev", output.split())
        self.assertNotEqual(run("install_packages", "--list", "nonsense")[0], 0)

    def test_skips_what_a_command_from_elsewhere_replaces(self):
        output = run("install_packages", "--list", "test")[1].split()
        for command, package in [("node", "nodejs"), ("npm", "npm")]:
            present = subprocess.run(["sh", "-c", f"command -v {command}"], capture_output=True,
                                     check=False).returncode == 0
            self.assertEqual(package not in output, present)


class Installing(TreeTest):
    """With an apt that fails, and a sudo that only runs what it is given."""

    def test_tells_what_to_do_by_hand_and_has_the_programs_of_root(self):
        for name, text in (("dpkg-query", ""), ("apt-get", 'echo "in $PATH"; exit 100\n'), ("sudo", 'shift; exec "$@"\n')):
            self.write(f"bin/{name}", f"#!/bin/sh\n{text}")
            (self.top / "bin" / name).chmod(0o755)
        env = {"PATH": f"{self.top}/bin:/usr/bin:/bin", "HOME": str(self.top)}
        done = subprocess.run([TOP / "tools/install_packages", "runtime"], capture_output=True, text=True, check=False, env=env)
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"in .*:/usr/sbin:/sbin\n")
        self.assertRegex(done.stderr, r"As root: apt-get update && apt-get install .* zlib1g")


class WholeRun(TreeTest):
    """tools/test, with tools that only say that they run."""

    def stages(self, code: int, *arguments: str) -> tuple[bool, list[str]]:
        (self.top / "tools").mkdir()
        shutil.copy(TOP / "tools/test", self.top / "tools")
        for name, result in (("install_packages", code), ("movies", 0), ("build", 1)):
            self.write(f"tools/{name}", f"#!/bin/sh\necho {name} $*\nexit {result}\n")
            (self.top / "tools" / name).chmod(0o755)
        done = subprocess.run([self.top / "tools/test", *arguments], capture_output=True, text=True, check=False)
        lines = [line for line in done.stdout.splitlines() if line and not line.startswith("===")]
        return done.returncode == 0, lines

    def test_installs_everything_before_it_takes_long(self):
        self.assertEqual(self.stages(0, "--all"), (False, ["install_packages build movies test docker", "movies", "build ci"]))

    def test_ends_with_an_installation_that_fails(self):
        self.assertEqual(self.stages(1), (False, ["install_packages build movies test"]))


class SharedObjects(TreeTest):
    def cache(self, folder: str) -> str:
        """Where tools/build of a checkout there lets ccache keep what it compiles; empty = where all do."""
        tools = self.top / folder / "tools"
        tools.mkdir(parents=True)
        shutil.copy(TOP / "tools/build", tools)
        self.write("bin/cmake", '#!/bin/sh\necho "cache:$CCACHE_DIR"\n')
        (self.top / "bin/cmake").chmod(0o755)
        (tools / "install_packages").symlink_to("/bin/true")
        env = {"PATH": f"{self.top}/bin:{os.environ['PATH']}", "HOME": str(self.top)}
        done = subprocess.run([tools / "build", "ci"], capture_output=True, text=True, check=True, env=env)
        return done.stdout.splitlines()[-1].removeprefix("cache:")

    def test_are_not_those_of_a_path_with_a_blank(self):
        self.assertEqual(self.cache("plain"), "")
        self.assertEqual(self.cache("with a blank"), str(self.top / "with a blank/build/ccache"))


class Tidy(TreeTest):
    """With a cmake that gives each source at the top a command, and a clang-tidy that says nothing."""

    def tidy(self, *arguments: str) -> tuple[int, str]:
        env = {"PATH": f"{self.top}/bin:{os.environ['PATH']}", "HOME": str(self.top)}
        done = subprocess.run([self.top / "tools/tidy", *arguments], capture_output=True, text=True, check=False, env=env)
        return done.returncode, done.stdout + done.stderr

    def setUp(self):
        super().setUp()
        self.write("bin/cmake", '#!/bin/sh\nfor file in *.cc; do echo "\\"file\\": \\"$PWD/$file\\""; done '
                   ">build/clang-analysis/compile_commands.json\n")
        self.write("bin/clang-tidy-16", "#!/bin/sh\n")
        self.write("tools/install_packages", "#!/bin/sh\n")
        self.write("build/clang-analysis/.lock", "")
        self.write(".gitignore", "build\n")
        self.write("a.cc", "")
        for tool in ("build", "tidy"):
            shutil.copy(TOP / "tools" / tool, self.top / "tools")
        for path in [*self.top.glob("bin/*"), *self.top.glob("tools/*")]:
            path.chmod(0o755)
        git = ["git", "-C", str(self.top), "-c", "user.name=n", "-c", "user.email=e"]
        for command in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", "c"]):
            subprocess.run([*git, *command], check=True)

    def test_checks_files_that_are_new(self):
        self.assertIn("tidy: 1 files, clean", self.tidy("--all")[1])
        self.write("new.cc", "")
        self.assertEqual(self.tidy("--changed"), (0, "tidy: 1 files, clean\n"))

    def test_names_what_it_leaves_out(self):
        self.write("other/b.cc", "")
        code, output = self.tidy("--changed")
        self.assertEqual(code, 0)
        self.assertIn("tidy: other/b.cc is not compiled by the preset clang-analysis", output)

    def test_of_a_commit_that_there_is_not_is_no_pass(self):
        self.assertNotEqual(self.tidy("--changed", "nonsense")[0], 0)


class Corpus(unittest.TestCase):
    def test_a_name_that_there_is_not_is_no_pass(self):
        for script in ("corpus_test.py", "build.py"):
            done = subprocess.run([TOP / "tests/corpus" / script, "/nonexistent", "no-such-case"], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn("no such case: ", done.stderr)
            self.assertIn("no-such-case", done.stderr)


class Help(unittest.TestCase):
    def test_each_tool_explains_itself(self):
        for path in sorted((TOP / "tools").iterdir()):
            if path.is_file() and not path.suffix and path.name != "CMakeLists":
                with self.subTest(tool=path.name):
                    code, output = run(path.name, "--help")
                    self.assertEqual(code, 0, output)
                    self.assertGreater(len(output), 40)


if __name__ == "__main__":
    unittest.main()
