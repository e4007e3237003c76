"""lapwing run: how it rewrites command lines. The launchers are scripts that only answer to --version."""

import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import time
import unittest

import jobs
from support import TOOL, ToolTest, clean_environment

OPENMPI = "mpirun (Open MPI) 4.1.4"
HYDRA = "HYDRA build details:\n    Version:                                 4.0.2"


def soon(condition):
    """Waits until the condition holds, or until the limit, which bounds a wait that would never end."""
    for _ in range(1000):
        if condition():
            return True
        time.sleep(0.1)
    return False


class Run(ToolTest):
    def setUp(self):
        # An installation of its own: the tool, and preload libraries that are never loaded.
        self.prefix = self.scratch
        (self.prefix / "bin").mkdir()
        (self.prefix / "lib").mkdir()
        self.tool = shutil.copy2(TOOL, self.prefix / "bin" / "lapwing")
        self.openmpi = self.preload("liblapwing-openmpi.so")
        self.mpich = self.preload("liblapwing-mpich.so")
        self.path = f"{self.prefix / 'bin'}:{os.environ['PATH']}"
        self.launcher("mpirun", OPENMPI)
        self.launcher("mpiexec", HYDRA)

    def preload(self, name):
        file = self.prefix / "lib" / name
        file.touch()
        return str(file)

    def launcher(self, name, answer, then="exit 3"):
        asked = f"if [ \"$*\" = --version ]; then cat <<'END'\n{answer}\nEND\nexit; fi"
        return self.script(name, f"{asked}\n{then}", self.prefix / "bin")

    def rewritten(self, *arguments, **variables):
        variables = {"PATH": self.path, **variables}
        out, err = self.call("run", "--dry-run", *arguments, tool=self.tool, **variables)
        self.assertEqual(err, "")
        self.assertEqual(out.count("\n"), 1)
        return shlex.split(out)

    def wrong(self, *arguments, because, **variables):
        variables = {"PATH": self.path, **variables}
        return self.refused("run", *arguments, because=because, tool=self.tool, **variables)

    def test_openmpi(self):
        self.assertEqual(
            self.rewritten("--", "mpirun", "-n", "2", "./a", "b c", "it's", ""),
            ["mpirun", "-x", f"LD_PRELOAD={self.openmpi}", "-n", "2", "./a", "b c", "it's", ""],
        )

    def test_openmpi_with_settings(self):
        self.assertEqual(
            self.rewritten("--engine", "host", "--algorithm", "ibcast=k_nomial:k=3", "--", "mpirun", "a"),
            ["mpirun", "-x", f"LD_PRELOAD={self.openmpi}", "-x", "LAPWING_ENGINE=host",
             "-x", "LAPWING_ALGORITHM=ibcast=k_nomial:k=3", "a"],
        )

    def test_a_tuning_file_is_passed_on_by_its_absolute_path(self):
        file = self.prefix / "tuning.json"
        file.write_text('{"lapwing_tuning": 1, "tables": []}')
        self.assertIn(f"LAPWING_TUNING={file.resolve()}",
                      self.rewritten("--tuning", "tuning.json", "--", "mpirun", "a", cwd=self.prefix))

    def test_openmpi_with_several_programs(self):
        preload = ["-x", f"LD_PRELOAD={self.openmpi}"]
        self.assertEqual(
            self.rewritten("--", "mpirun", "-n", "1", "a", ":", "-n", "1", "b"),
            ["mpirun", *preload, "-n", "1", "a", ":", *preload, "-n", "1", "b"],
        )

    def test_mpich(self):
        self.assertEqual(
            self.rewritten("--report", "--blocking", "--", "mpiexec", "-n", "2", "./a"),
            ["mpiexec", "-genv", "LD_PRELOAD", self.mpich, "-genv", "LAPWING_BLOCKING", "on",
             "-genv", "LAPWING_REPORT", "text", "-n", "2", "./a"],
        )

    def test_the_answer_counts_and_not_the_name(self):
        self.launcher("mpirun.mpich", OPENMPI)
        self.assertEqual(self.rewritten("--", "mpirun.mpich", "a")[1], "-x")
        self.launcher("mpirun", "Intel(R) MPI Library for Linux* OS, Version 2021.8 Build 20221129")
        self.assertEqual(self.rewritten("--", "mpirun", "a")[1:4], ["-genv", "LD_PRELOAD", self.mpich])

    def test_a_launcher_whose_file_tells_the_family_is_not_asked(self):
        for name, mark, option in (("mpirun", "libopen-rte.so.40", "-x"), ("mpirun", "OPAL_PREFIX", "-x"),
                                   ("mpiexec", "HYDRA build details:", "-genv")):
            file = self.prefix / "bin" / name
            # Debug information, for example, is not what the program loads.
            file.write_bytes(pathlib.Path(shutil.which("true")).read_bytes() + mark.encode())
            self.wrong("--", name, "a", because="neither a launcher")
            subprocess.run(["cc", "-x", "c", "-", "-o", file], check=True, text=True,
                           input=f'const char mark[] = "{mark}"; int main(void) {{ return 3; }}')
            self.assertEqual(self.rewritten("--", name, "a")[1], option)
            # A program of such a name, and of any other.
            self.wrong("--", shutil.copy2(file, self.prefix / "bin" / "mpi_ring"), because="neither a launcher")

    def test_a_program_of_the_standard_abi(self):
        abi = self.preload("liblapwing-abi.so")
        library = self.prefix / "libmpi_abi.so.1"
        compiler = ["cc", "-x", "c", "-", "-x", "none", "-o"]
        subprocess.run([*compiler, library, "-shared", "-fPIC", f"-Wl,-soname,{library.name}"], check=True,
                       input="int MPI_Finalize(void) { return 0; }", text=True)
        program = self.prefix / "bin" / "program"
        subprocess.run([*compiler, program, library], check=True, text=True,
                       input="int MPI_Finalize(void); int main(void) { return MPI_Finalize(); }")
        for word in (program, "program"):
            self.assertEqual(self.rewritten("--", "mpiexec", "-n", "2", word)[2:4], ["LD_PRELOAD", abi])
        self.assertEqual(self.rewritten("--", program)[1], f"LD_PRELOAD={abi}")
        between, behind = self.prefix / "libbetween.so", self.prefix / "bin" / "behind"
        subprocess.run([*compiler, between, "-shared", "-fPIC", library], check=True, text=True,
                       input="int MPI_Finalize(void); int finalize(void) { return MPI_Finalize(); }")
        subprocess.run([*compiler, behind, between, "-Wl,--allow-shlib-undefined"], check=True, text=True,
                       input="int finalize(void); int main(void) { return finalize(); }")
        self.assertEqual(self.rewritten("--", behind)[1], f"LD_PRELOAD={abi}")
        self.assertEqual(self.rewritten("--mpi", "mpich", "--", "mpiexec", program)[3], self.mpich)
        self.assertEqual(self.rewritten("--mpi", "abi", "--", "mpiexec", "a.py")[3], abi)
        # The name of a batch system's launcher does not tell the MPI, but the program does.
        self.launcher("srun", "slurm 22.05")
        self.assertEqual(self.rewritten("--", "srun", "-n", "2", program)[1], f"LD_PRELOAD={abi}")

    def test_variables_are_passed_on(self):
        words = self.rewritten("--", "mpirun", "a", LAPWING_ENGINE="mpi", LAPWING_BLOCKING="off")
        self.assertEqual(words[3:], ["-x", "LAPWING_ENGINE=mpi", "a"])
        words = self.rewritten("--engine", "auto", "--", "mpirun", "a", LAPWING_ENGINE="mpi")
        self.assertEqual(words[3:], ["-x", "LAPWING_ENGINE=auto", "a"])

    def test_the_thread_of_sockets_sleeps(self):
        words = ("--engine", "triggered", "--", "mpirun", "a")
        self.assertNotIn("FI_SOCKETS_PE_WAITTIME=0", self.rewritten(*words))
        sockets = {"LAPWING_TRIGGER_PROVIDER": "sockets"}
        self.assertIn("FI_SOCKETS_PE_WAITTIME=0", self.rewritten(*words, **sockets))
        self.assertNotIn("FI_SOCKETS_PE_WAITTIME=0",
                         self.rewritten(*words, **sockets, FI_SOCKETS_PE_WAITTIME="5"))

    def test_what_the_user_preloads_is_kept(self):
        # A missing library: the loader reports it on standard error and continues.
        theirs = "/nonexistent/theirs.so"
        environment = {"PATH": self.path, "LD_PRELOAD": theirs}
        out, _ = self.call("run", "--dry-run", "--", "mpirun", "a", tool=self.tool, **environment)
        self.assertEqual(shlex.split(out)[2], f"LD_PRELOAD={theirs}:{self.openmpi}")
        words = self.rewritten("--", "mpirun", "-n", "2", "-x", f"LD_PRELOAD={theirs}", "a")
        self.assertEqual(words, ["mpirun", "-x", f"LD_PRELOAD={theirs}:{self.openmpi}", "-n", "2", "a"])
        for option in (["-genv", "LD_PRELOAD", theirs], ["-genv", f"LD_PRELOAD={theirs}"]):
            words = self.rewritten("--", "mpiexec", *option, "a")
            self.assertEqual(words, ["mpiexec", "-genv", "LD_PRELOAD", f"{theirs}:{self.mpich}", "a"])

    def test_a_library_of_lapwing_that_is_preloaded_already_is_not_loaded_twice(self):
        profile = self.preload("liblapwing-profile-openmpi.so")
        value = "/nonexistent/liblapwing-openmpi.so /nonexistent/theirs.so:/nonexistent/liblapwing-mpich.so"
        for command, library in (("run", self.openmpi), ("profile", profile)):
            out, _ = self.call(command, "--dry-run", "--", "mpirun", "a", tool=self.tool, PATH=self.path, LD_PRELOAD=value)
            self.assertEqual(shlex.split(out)[2], f"LD_PRELOAD=/nonexistent/theirs.so:{library}")
        words = self.rewritten("--", "mpirun", "-x", f"LD_PRELOAD={self.openmpi}", "a")
        self.assertEqual(words, ["mpirun", "-x", f"LD_PRELOAD={self.openmpi}", "a"])
        self.assertEqual(self.rewritten("--", "mpiexec", "-genv", "LD_PRELOAD", value, "a")[3], f"/nonexistent/theirs.so:{self.mpich}")
        programs = self.prefix / "libexec" / "lapwing"
        programs.mkdir(parents=True)
        self.script("lapwing-bench-openmpi", "", programs)
        native = ("bench", "latency", "--engine", "native", "--dry-run", "--", "mpirun")
        for words, preloaded, passed in ((native, value, "/nonexistent/theirs.so"), (native, self.openmpi, ""),
                                         ((*native, "-x", f"LD_PRELOAD={self.openmpi}"), "", "")):
            out, _ = self.call(*words, tool=self.tool, PATH=self.path, LD_PRELOAD=preloaded)
            self.assertEqual(shlex.split(out)[1:3], ["-x", f"LD_PRELOAD={passed}"])

    def test_report(self):
        file = self.prefix / "report.json"
        words = self.rewritten("--report", "--json", "--output", file, "--", "mpirun", "a")
        self.assertEqual(words[3:], ["-x", "LAPWING_REPORT=json", "-x", f"LAPWING_REPORT_FILE={file}", "a"])
        words = self.rewritten("--output", file, "--", "mpirun", "a")
        self.assertIn("LAPWING_REPORT=text", words)

    def test_trace(self):
        file = self.prefix / "timeline.json"
        self.assertIn(f"LAPWING_TRACE={file}.parts", self.rewritten("--trace", file, "--", "mpirun", "a"))
        _, err = self.call("run", "--trace", file, "--", "mpirun", "a", tool=self.tool, status=3, PATH=self.path)
        self.assertTrue(err)
        self.assertFalse(file.exists())
        self.launcher("mpirun", OPENMPI, then="kill -TERM $$")
        self.call("run", "--trace", file, "--", "mpirun", "a", tool=self.tool, status=-15, PATH=self.path)
        self.wrong("--", "mpirun", "a", because="LAPWING_TRACE_EVENTS", LAPWING_TRACE_EVENTS="8")

    def test_a_killed_run_leaves_nothing(self):
        # A rank in a session of its own, as some launchers start them, below a script that heeds no signal while it waits.
        ready = self.prefix / "ready"
        os.mkfifo(ready)
        self.launcher("mpirun", OPENMPI, then=f"setsid sleep 987653 &\nsh -c 'echo > {ready}; exec sleep 987652'\nexit 4")
        for options in (["--trace", self.prefix / "timeline.json"], ["--output", self.prefix / "report"]):
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
                mark = f"{options[0]} {number}"
                words = [self.tool, "run", *options, "--", "mpirun", "a"]
                process = subprocess.Popen([str(word) for word in words], env=clean_environment(PATH=self.path, MARK=mark),
                                           stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                ready.read_text()
                process.send_signal(number)
                process.wait(timeout=100)
                self.assertTrue(soon(lambda: not jobs.processes_with("MARK", mark)), mark)
                self.assertEqual(list(self.prefix.glob("*.parts*")), [], mark)

    def started(self, *words, **variables):
        """The tool, whose job runs."""
        ready = self.prefix / "ready"
        ready.exists() or os.mkfifo(ready)
        self.launcher("mpirun", OPENMPI, then=f"echo > {ready}; exec sleep 987651")
        process = subprocess.Popen([str(word) for word in (self.tool, *words)], env=clean_environment(PATH=self.path, **variables),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        ready.read_text()
        return process

    def test_a_killed_collector_leaves_nothing(self):
        """The process that collects the ranks' files is killed: its guard removes them, or else the next run."""
        place = self.prefix / "place"
        place.mkdir()
        run = ("run", "--trace", place / "t.json", "--output", place / "r", "--", "mpirun", "a")
        for both in (False, True):
            process = self.started(*run, TMPDIR=str(place))
            self.assertEqual(len(list(place.iterdir())), 2)
            [collector] = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            if both:  # without a chance to end as its guard does
                os.kill(int(collector), signal.SIGSTOP)
                process.kill()
            os.kill(int(collector), signal.SIGKILL)
            self.assertEqual(process.wait(timeout=100), -signal.SIGKILL)
            self.assertEqual(len(list(place.iterdir())), 2 if both else 0)
        running = self.started(*run, TMPDIR=str(place))
        self.assertEqual(len(list(place.iterdir())), 2)
        # Not those of a job that runs.
        self.launcher("mpirun", OPENMPI, then="exit 0")
        self.call(*run, tool=self.tool, status=125, PATH=self.path, TMPDIR=str(place))
        self.assertEqual(len(list(place.iterdir())), 2)
        running.terminate()
        running.wait(timeout=100)
        self.assertEqual(list(place.iterdir()), [])
        # Nor those of another host, whose locks a network file system does not show.
        own, other = ([place / f"{name}-{host}-abcdef" for name in ("t.json.parts", "lapwing-report")]
                      for host in (os.uname().nodename, "other"))
        for path in (*own, *other):
            path.mkdir()
        self.call(*run, tool=self.tool, status=125, PATH=self.path, TMPDIR=str(place))
        self.assertEqual(set(place.iterdir()), set(other))

    def test_a_result_stays_until_there_is_a_new_one(self):
        programs = self.prefix / "libexec" / "lapwing"
        programs.mkdir(parents=True)
        place = self.prefix / "place"
        place.mkdir()
        for program, *words in (("bench", "bench", "overlap", "-o"), ("tune", "tune", "-o")):
            self.script(f"lapwing-{program}-openmpi", "", programs)
            for old in ("", "old"):
                if old:
                    (place / "result").write_text(old)
                process = self.started(*words, place / "result", "--", "mpirun")
                process.terminate()
                process.wait(timeout=100)
                self.assertEqual([path.read_text() for path in place.iterdir()], [old] if old else [], words)
            (place / "result").unlink()

    def test_a_report_that_is_lost(self):
        report = self.prefix / "report"
        run = ("run", "--output", report, "--", "mpirun", "a")
        # What rank 0 leaves: an empty mark in MPI_Init; the report, and something in the mark, in MPI_Finalize.
        self.launcher("mpirun", OPENMPI, then=f"echo all > {report}")
        self.call(*run, tool=self.tool, PATH=self.path)
        self.assertEqual(report.read_text(), "all\n")
        self.launcher("mpirun", OPENMPI, then=f': > {report}; for word; do case $word in *_MARK=*) : > "${{word#*=}}"; esac; done')
        _, err = self.call(*run, tool=self.tool, status=125, PATH=self.path)
        self.assertIn("MPI_Finalize", err)
        self.assertFalse(report.exists())
        for then, status in (("exit 0", 125), ("exit 7", 7), ("kill -TERM $$", -15)):
            report.write_text("of an earlier run\n")
            self.launcher("mpirun", OPENMPI, then=then)
            _, err = self.call(*run, tool=self.tool, status=status, PATH=self.path)
            self.assertIn("MPI_Init", err)
            self.assertFalse(report.exists())
        # The report goes to standard error. On a host that lacks the mark's directory, rank 0 leaves another mark.
        for left, status in (("exit 0", 125), ("exit 7", 7), ('for word; do case $word in *_MARK=*) '
                                                            'echo > "$(basename "$(dirname "${word#*=}")").mark"; esac; done', 0)):
            self.launcher("mpirun", OPENMPI, then=left)
            _, err = self.call("run", "--report", "--", "mpirun", "a", tool=self.tool, status=status, PATH=self.path, cwd=self.prefix)
            self.assertEqual("MPI_Init" in err, status != 0)
            self.assertEqual(list(self.prefix.glob("lapwing-report-*")), [])
        for left, status in (("all", 0), ("", 125)):
            self.launcher("mpirun", OPENMPI, then=f'for word; do case $word in *_MARK=*) printf "{left}" > "${{word#*=}}"; esac; done')
            _, err = self.call("run", "--report", "--", "mpirun", "a", tool=self.tool, status=status, PATH=self.path)
            self.assertEqual("MPI_Finalize" in err, status == 125, err)
        self.launcher("mpirun", OPENMPI, then="exit 0")
        self.call("run", "--output", "/dev/null", "--", "mpirun", "a", tool=self.tool, PATH=self.path)

    def test_a_timeline_that_finds_no_room(self):
        link = self.prefix / "link"
        link.symlink_to("/dev/full")
        self.launcher("mpirun", OPENMPI, then="exit 0")
        self.wrong("--trace", link, "--", "mpirun", "a", because=str(link))

    def test_profile(self):
        profile = self.preload("liblapwing-profile-openmpi.so")
        out, _ = self.call("profile", "--dry-run", "--", "mpirun", "-n", "2", "a", tool=self.tool, PATH=self.path)
        words = shlex.split(out)
        self.assertEqual(words[:3], ["mpirun", "-x", f"LD_PRELOAD={profile}"])
        self.assertEqual(words[-3:], ["-n", "2", "a"])
        self.refused("profile", because="command", tool=self.tool)
        self.refused("profile", "--", "mpiexec", "a", because="liblapwing-profile-mpich.so", tool=self.tool, PATH=self.path)

    def test_other_launchers_with_their_environment(self):
        self.launcher("srun", "slurm 22.05")
        self.assertEqual(
            self.rewritten("--mpi", "mpich", "--engine", "host", "--", "srun", "-n", "2", "a"),
            ["env", f"LD_PRELOAD={self.mpich}", "LAPWING_ENGINE=host", "srun", "-n", "2", "a"],
        )
        self.wrong("--", "srun", "-n", "2", "a", because="--mpi")

    def test_srun_exports_the_variables_where_a_site_exports_none(self):
        self.launcher("srun", "slurm 22.05")

        def exports(*words, **environment):
            words = self.rewritten("--mpi", "mpich", "--engine", "host", "--", "srun", *words, **environment)
            return [word for word in words if "EXPORT" in word or "--export" in word or "tool.so" in word]

        ours = "LD_PRELOAD,LAPWING_ENGINE"
        self.assertEqual(exports("a", SLURM_EXPORT_ENV="NONE"), [f"SLURM_EXPORT_ENV={ours}"])
        self.assertEqual(exports("a", SLURM_EXPORT_ENV="HOME"), [f"SLURM_EXPORT_ENV=HOME,{ours}"])
        self.assertEqual(exports("a", SLURM_EXPORT_ENV="ALL,A=1"), ["SLURM_EXPORT_ENV=ALL,A=1"])
        self.assertEqual(exports("--export=NIL", "a", SLURM_EXPORT_ENV="NONE"), [f"--export={ours}"])
        self.assertEqual(exports("--export", "NONE", "--export-dir", "a"), ["--export", "--export-dir"])
        self.assertIn(ours, self.rewritten("--mpi", "mpich", "--engine", "host", "--", "srun", "--export", "NONE", "a"))
        self.assertEqual(exports("sh", "--export=NONE"), ["--export=NONE"])  # the program's
        self.assertEqual(exports("-J", "sh", "--export=none,A", "a", ":", "--export=All,B", "b"), [f"--export=A,{ours}", "--export=All,B"])
        self.assertEqual(exports("--export=LD_PRELOAD=/tool.so,A", "a"), [f"LD_PRELOAD=/tool.so:{self.mpich}", f"--export=A,{ours}"])

    def test_a_script_of_the_user_is_not_run_to_be_asked(self):
        ran = self.prefix / "ran"
        script = self.script("job.sh", f"touch {ran}", self.prefix / "bin")
        self.wrong("--", script, because="--mpi")
        self.wrong("--", "job.sh", because="--mpi")
        for name in ("mpi_job.sh", "mpi", "prune.sh"):
            self.wrong("--", self.script(name, f"touch {ran}", self.prefix / "bin"), because="--mpi")
            self.wrong("--", name, because="--mpi")
        self.assertFalse(ran.exists())

    def test_scripts_that_are_launchers_are_asked_wherever_they_are(self):
        for name in ("mpirun", "mpiexec", "mpirun.openmpi", "mpiexec.hydra", "mpirun-5.0", "mpirun_rsh", "orterun", "prterun", "prun"):
            file = self.launcher(name, OPENMPI)
            for word in (name, str(file)):
                self.assertEqual(self.rewritten("--", word, "a")[:2], [word, "-x"])

    def test_a_launcher_that_does_not_answer(self):
        # The launcher is asked for its version. The file that it would write afterwards shows whether the tool waited for it.
        ended = self.prefix / "ended"
        self.script("mpirun", f"sleep 600\ntouch {ended}", self.prefix / "bin")
        self.wrong("--", "mpirun", "a", because="mpirun")
        self.assertFalse(ended.exists())

    def test_debian_layout(self):
        libraries = self.prefix / "lib64"
        (self.prefix / "lib").rename(libraries)
        words = self.rewritten("--", "mpirun", "a")
        self.assertEqual(words[2], f"LD_PRELOAD={libraries / 'liblapwing-openmpi.so'}")

    def test_missing_library(self):
        pathlib.Path(self.openmpi).unlink()
        self.wrong("--", "mpirun", "a", because="liblapwing-openmpi.so")

    def test_exit_status_is_the_launchers(self):
        self.call("run", "--", "mpirun", "a", tool=self.tool, status=3, PATH=self.path)
        self.launcher("mpirun", OPENMPI, then="kill -TERM $$")
        self.call("run", "--", "mpirun", "a", tool=self.tool, status=-15, PATH=self.path)

    def test_environment_of_a_direct_start(self):
        self.launcher("srun", "slurm 22.05", then='echo "$LAPWING_ENGINE $*"')
        command = ("--mpi", "mpich", "--engine", "mpi", "--", "srun", "a")
        out, _ = self.call("run", *command, tool=self.tool, PATH=self.path)
        self.assertEqual(out, "mpi a\n")

    def test_a_batch_system_starts_a_program_that_shows_its_mpi(self):
        self.launcher("srun", "slurm 22.05", then='echo "$*"')
        self.wrong("--", "srun", "-n", "4", self.script("script", ""), because="--mpi")

    def test_without_an_mpi_it_says_how_to_get_one(self):
        nothing = self.prefix / "nothing"
        nothing.mkdir()
        for launcher in ("mpirun", "mpiexec", "/bin/true"):
            self.wrong("--", launcher, "-n", "2", "a", because="openmpi-bin", PATH=str(nothing))
        self.wrong("--", "mpirun", "a", because="module avail", PATH=str(nothing), LMOD_CMD="/usr/share/lmod")
        self.wrong("--", "srun", "a", because="Slurm", PATH=str(nothing))
        # Another launcher is there, and the message names it.
        (nothing / "mpiexec.hydra").symlink_to("/bin/true")
        self.wrong("--", "mpirun", "a", because="mpiexec.hydra", PATH=str(nothing))
        self.assertNotIn("openmpi-bin", self.wrong("--", "/bin/true", because="launcher", PATH=str(nothing)))

    def test_a_program_of_lapwing_that_finds_no_mpi_library(self):
        programs = self.prefix / "libexec" / "lapwing"
        programs.mkdir(parents=True)
        for program in ("bench", "tune"):
            shutil.copy2("/bin/true", programs / f"lapwing-{program}-mpich")
        missing = "error while loading shared libraries: libmpi.so.12: cannot open shared object file"
        self.launcher("mpiexec", HYDRA, then=f"echo '{missing}' >&2; exit 127")
        for command in (("bench", "overlap"), ("tune", "-o", self.prefix / "tuning.json")):
            out, err = self.call(*command, "--", "mpiexec", "-n", "2", tool=self.tool, PATH=self.path, status=1)
            self.assertEqual(out, "")
            self.assertIn("127", err)
            self.assertIn("libmpich.so.12", err)
        self.launcher("mpiexec", HYDRA, then="exit 3")
        _, err = self.call("bench", "overlap", "--", "mpiexec", "-n", "2", tool=self.tool, PATH=self.path, status=1)
        self.assertIn("3", err)
        self.assertNotIn("libmpich", err)

    def test_programs_that_cannot_be_started(self):
        file = self.prefix / "text"
        file.write_text("")
        self.wrong("--", file, because="chmod +x")
        self.wrong("--", self.prefix / "none", because=str(self.prefix / "none"))
        file.chmod(0o755)
        self.wrong("--", file, because="mpirun")

    def test_wrong_options(self):
        self.refused_each([
            ("command",),
            ("--report", "--", "command"),
            ("mpirun", "-n", "2", "a", "lapwing run -- mpirun -n 2 a"),
            ("--reprot", "--", "mpirun", "a", "'--report'"),
            ("--engine", "hsot", "--", "mpirun", "a", "'host'"),
            ("--algorithm", "ialltoall=pairwise:widnow=6", "--", "mpirun", "a", "'window'"),
            ("--algorithm", "ialtoall=pairwise", "--", "mpirun", "a", "'ialltoall'"),
            ("--mpi", "opnmpi", "--", "mpirun", "a", "'openmpi'"),
            ("--", "no-such-launcher", "'no-such-launcher'"),
            ("--", "/no/launcher", "'/no/launcher'"),
        ], "run", tool=self.tool, PATH=self.path)


if __name__ == "__main__":
    unittest.main()
