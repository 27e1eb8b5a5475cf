import os
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from stub import Stub

# The children of these programs are programs of their own, as a user's.
PREFIX = """
import asyncio, multiprocessing, os, sys, threading, time
import waymark
client = waymark.Waymark("wmk_trace_x", os.environ["URL"], **({"exit_timeout": float(os.environ["EXIT"])} if os.environ["EXIT"] else {}))

@waymark.observe
def work(n):
    return os.getpid()

def child(n):
    with client.start_trace("child", str(n)):
        work(n)
"""


class ProcessesTest(unittest.TestCase):
    def setUp(self):
        self.stub = Stub()
        self.addCleanup(self.stub.close)

    def run_program(self, body, **env):
        folder = str(Path(__file__).parent.parent)
        environ = {**os.environ, "PYTHONPATH": folder, "URL": self.stub.url, "TMPDIR": "/tmp", "EXIT": "300", **env}
        program = Path(self.folder()) / "program.py"
        program.write_text(PREFIX + body)
        began = time.monotonic()
        # Python 3.12 warns of forks beside threads.
        command = [sys.executable, "-W", "ignore::DeprecationWarning", str(program)]
        done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=600)
        self.output = done.stdout
        return done.returncode, done.stderr, time.monotonic() - began

    def folder(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return folder.name

    def statuses(self):
        return sorted((trace["agent_id"], trace["status"]) for trace in self.stub.traces.values())

    def test_a_program_that_just_ends_loses_nothing(self):
        self.stub.fate = lambda number, method, path: "drop" if number % 3 == 0 else None
        ends = [
            "",
            "sys.exit(0)",
            "raise SystemExit(0)",
            "threading.Thread(target=lambda: (time.sleep(0.1), work(9))).start()",
        ]
        for end in ends:
            code, error, _ = self.run_program(f"for n in range(100):\n    child(n)\n{end}\n")
            self.assertEqual(code, 0)
            self.assertNotIn("could not be recorded", error)
        self.assertEqual(len(self.stub.traces), 401)
        self.assertEqual(len(self.stub.named("work")), 401)
        self.assertEqual({status for _, status in self.statuses()}, {"success"})
        code, error, _ = self.run_program("with client.start_trace('a', 'b') as trace, trace.span('c'):\n    1 / 0\n")
        self.assertEqual((code, self.stub.named("c")[0]["error"]), (1, "ZeroDivisionError: division by zero"))

    def test_a_dead_or_silent_server_does_not_hold_the_end(self):
        code, error, seconds = self.run_program("child(1)\n", URL="http://127.0.0.1:1", EXIT="1")
        self.assertEqual(code, 0)
        self.assertLess(seconds, 50)
        self.assertIn("1 traces and 1 spans could not be recorded", error)
        began = time.monotonic()
        self.run_program("")
        start = time.monotonic() - began
        self.stub.fate = lambda number, method, path: "hang"
        for end in ["", "began = time.monotonic(); work(1); assert time.monotonic() - began < 1"]:
            # The default bounds the exit by 2 s, beside the start of the interpreter.
            code, _, seconds = self.run_program(f"child(1)\n{end}\n", EXIT="")
            self.assertEqual(code, 0)
            self.assertLess(seconds - start, 8)
        code, error, seconds = self.run_program("child(1)\n", EXIT="1")
        self.assertEqual(code, 0)
        self.assertLess(seconds, 50)
        self.assertIn("1 traces and 1 spans could not be recorded", error)

    def test_forked_children_send_their_own_records_once(self):
        code, error, _ = self.run_program("""
with client.start_trace("parent", "p") as trace:
    with trace.span("before") as before:
        client.flush()
        children = []
        for n in range(4):
            pid = os.fork()
            if pid == 0:
                work(n)
                child(n)
                sys.exit(0)
            children.append(pid)
        for pid in children:
            assert os.waitpid(pid, 0)[1] == 0
        work("parent")
""")
        self.assertEqual((code, error), (0, ""))
        self.assertEqual(self.statuses(), [("child", "success")] * 4 + [("parent", "success")])
        self.assertEqual(len(self.stub.named("before")), 1)
        self.assertEqual(len(self.stub.named("work")), 9)
        below = [span for span in self.stub.named("work") if span["parent"] is not None]
        self.assertEqual({self.stub.spans[span["parent"]]["name"] for span in below}, {"before"})
        self.assertEqual(len(below), 5)

    def test_a_fork_while_all_is_in_flight_neither_hangs_nor_repeats(self):
        self.stub.fate = lambda number, method, path: time.sleep(0.02)
        code, error, _ = self.run_program("""
trace = client.start_trace("parent", "p")
stop = threading.Event()
def record():
    while not stop.is_set():
        trace.span("noise").end()
        time.sleep(0.0005)
noise = [threading.Thread(target=record) for _ in range(3)]
for thread in noise: thread.start()
for n in range(20):
    pid = os.fork()
    if pid == 0:
        trace.span(f"child {n}").end()
        sys.exit(0)
    assert os.waitpid(pid, 0)[1] == 0
stop.set()
for thread in noise: thread.join()
trace.end()
assert client.flush()
print(client.stats().sent_spans)
""")
        self.assertEqual((code, error), (0, ""))
        self.assertEqual(len(self.stub.traces), 1)
        self.assertEqual(len(self.stub.named("noise")), int(self.output))
        for n in range(20):
            self.assertEqual(len(self.stub.named(f"child {n}")), 1)

    def test_no_request_imports_a_module(self):
        # A fork in the middle of an import by another thread leaves the child with half of it.
        code, error, _ = self.run_program("""
known = set(sys.modules)
child(1)
client.flush()
print(*set(sys.modules) - known)
""")
        self.assertEqual((code, error, self.output), (0, "", "\n"))

    def test_children_of_multiprocessing_lose_nothing(self):
        for method in ("fork", "spawn", "forkserver"):
            code, error, _ = self.run_program(f"""
if __name__ == "__main__":
    context = multiprocessing.get_context("{method}")
    children = [context.Process(target=child, args=(n,)) for n in range(3)]
    for process in children: process.start()
    for process in children: process.join()
    with context.Pool(2) as pool:
        pool.map(child, range(3, 9))
        pool.close()
        pool.join()
""")
            self.assertEqual((code, error), (0, ""))
            self.assertEqual(self.statuses(), [("child", "success")] * 9, method)
            self.stub.traces.clear()


if __name__ == "__main__":
    unittest.main()
