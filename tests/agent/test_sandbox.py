"""What code in the sandbox can do, and everything it must not be able to."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from groundwire.agent.sandbox import Function, Sandbox, functions_for
from groundwire.config import SandboxConfig
from groundwire.engine import Groundwire
from groundwire.errors import BackendDown, InputError

LIMITS = SandboxConfig(seconds=1.0, memory_bytes=32_000_000, recursion=100, calls=5)
FILES = {"france.txt": "France has 67 million people.\nParis is its capital."}


ESCAPED = Path("/tmp/groundwire-escape")


def limits_of(worker: int) -> dict[str, str]:
    lines = Path(f"/proc/{worker}/limits").read_text().splitlines()[1:]
    return {line[:20].strip(): line.split()[-3] for line in lines}


async def echo(value: object = None, *more: object, **named: object) -> object:
    return value


async def refuse(how: str) -> object:
    raise {"input": InputError("not this"), "down": BackendDown("gone"), "type": TypeError("no")}[how]


@pytest.fixture
async def sandbox(engine: Groundwire) -> AsyncIterator[Sandbox]:
    own = {call.__name__: Function(call.__name__, "", call) for call in (echo, refuse)}
    async with Sandbox({**functions_for(engine), **own}, FILES, LIMITS) as opened:
        yield opened


async def error_of(sandbox: Sandbox, code: str) -> str:
    output = await sandbox.run(code)
    assert output.value is None
    assert output.error is not None
    return output.error


async def test_names_persist_between_runs(sandbox: Sandbox) -> None:
    assert (await sandbox.run("x = 40")).error is None
    output = await sandbox.run("print('so'); x + 2")
    assert (output.stdout, output.value, output.text) == ("so\n", 42, "so\n42")


@pytest.mark.spec("SPEC-08.32", "SPEC-08.33")
async def test_results_keep_their_fields(sandbox: Sandbox) -> None:
    code = (
        "r = verify_claim('Paris is its capital.', files['france.txt'], 0.9)\n"
        "[r.p0, r.p1, r.required_bits, r.observed_bits, r.budget_gap, r.status, r.confidence]"
    )
    value = (await sandbox.run(code)).value
    assert isinstance(value, list)
    assert value[5:] == ["ENTAILED", 0.9]
    assert all(isinstance(figure, float) for figure in value[:5])


@pytest.mark.spec("SPEC-08.31", "SPEC-16.02", "SPEC-16.03", "SPEC-16.04", "SPEC-16.05", "SPEC-16.09")
@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("verify_claim('Paris is its capital', files['france.txt'], threshold=0.5).status", "ENTAILED"),
        ("verify_claim('Dogs bark.', [read('france.txt')]).flag_reason", "unsupported"),
        ("[c.status for c in verify_claims('Paris is its capital. Dogs bark loudly.', files)]",
         ["ENTAILED", "NOT_IN_CONTEXT"]),
        ("detect_hallucinations('Paris is its capital.', files).flagged", False),
        ("detect_hallucinations('Rome is its capital.', files).claims[0].spans[0].start", 0),
        ("0.0 <= evidence_dependence('Which?', 'Paris is its capital.', files['france.txt']) <= 1.0", True),
        ("[c.status for c in audit_reasoning([{'claim': 'Paris is its capital.', 'cites': ['france.txt']}], files)]",
         ["ENTAILED"]),
        ("audit_trace(['Paris is its capital.'], context=files).steps[0].status", "ENTAILED"),
        ("audit_trace(['Rome is its capital.'], context=files).flagged", True),
        ("search('CAPITAL')", ["france.txt:2: Paris is its capital."]),
        ("read('france.txt', 0, 6)", "France"),
        ("list(files)", ["france.txt"]),
    ],
)  # fmt: skip
async def test_functions_work_inside_the_sandbox(sandbox: Sandbox, code: str, expected: object) -> None:
    output = await sandbox.run(code)
    assert output.error is None
    assert output.value == expected


ESCAPES = {
    "file": "open('/etc/passwd').read()",
    "file by path": "import pathlib\npathlib.Path('/etc/passwd').read_text()",
    "folder": "import os\nos.listdir('/')",
    "writing": "open('/tmp/groundwire-escape', 'w').write('x')",
    "network": "import socket",
    "web": "import urllib.request",
    "process": "import subprocess",
    "shell": "import os\nos.system('id')",
    "environment": "import os\nos.environ['PATH']",
    "import": "import groundwire",
    "import by name": "__import__('os').system('id')",
    "native code": "import ctypes",
    "dunder walk": "().__class__.__bases__[0].__subclasses__()",
    "dunder walk of a result": "verify_claim('a b', 'c d').__class__.__init__.__globals__",
    "a result's dict": "verify_claim('a b', 'c d').__dict__",
    "a result's methods": "verify_claim('a b', 'c d').__reduce__()",
    "the function itself": "verify_claim.__globals__",
    "its code": "verify_claim.__code__",
    "frames": "import sys\nsys._getframe()",
    "modules": "import sys\nsys.modules",
    "globals": "globals()['__builtins__']",
    "builtins": "import builtins",
    "exec": "exec(\"import socket\")",
    "recursion": "def f(n):\n    return f(n + 1)\nf(0)",
    "deep source": "eval('(' * 100000)",
}  # fmt: skip


@pytest.mark.parametrize("code", ESCAPES.values(), ids=ESCAPES.keys())
async def test_escapes_are_refused(sandbox: Sandbox, code: str) -> None:
    assert (await error_of(sandbox, code)).strip()
    assert (await sandbox.run("1 + 1")).value == 2
    assert not await asyncio.to_thread(ESCAPED.exists)


BOMBS = {
    "endless loop": "while True:\n    pass",
    "endless loop that catches everything": "while True:\n    try:\n        while True:\n            pass\n    except BaseException:\n        pass",
    "memory": "x = []\nwhile True:\n    x.append('a' * 100000)",
    "string": "'a' * 10**10",
    "integer": "10**10**8",
    "shift": "1 << 10**12",
    "list": "list(range(10**9))",
    "join": "'x'.join(['a' * 1000000] * 1000)",
    "format": "f'{1:>10000000000}'",
    "percent": "'%10000000000d' % 1",
}


@pytest.mark.parametrize("code", BOMBS.values(), ids=BOMBS.keys())
async def test_resource_bombs_are_contained(sandbox: Sandbox, code: str) -> None:
    await sandbox.run("kept = 1")
    output = await sandbox.run(code)
    assert output.error is not None
    assert "Time" in output.error or "Memory" in output.error
    assert output.seconds < 8
    assert (await sandbox.run("1 + 1")).value == 2
    if output.lost:
        assert "lost" in output.error
        assert "NameError" in await error_of(sandbox, "kept")


async def test_catastrophic_patterns_time_out(sandbox: Sandbox) -> None:
    output = await sandbox.run("import re\nre.match('(a+)+$', 'a' * 60 + 'b')\nsearch('(a+)+$')")
    assert output.seconds < 8


async def test_long_output_is_truncated(sandbox: Sandbox) -> None:
    output = await sandbox.run("for n in range(100000):\n    print('a' * 1000)")
    assert len(output.stdout) < 300_000
    assert "output truncated" in output.stdout
    assert (await sandbox.run("1 + 1")).value == 2


async def test_sleep_returns_at_once(sandbox: Sandbox) -> None:
    output = await sandbox.run("import time\ntime.sleep(1000)\n'awake'")
    assert output.value == "awake"
    assert output.seconds < 5


async def test_calls_are_counted_and_limited(sandbox: Sandbox) -> None:
    assert (await sandbox.run("[echo(n) for n in range(5)]")).calls == 5
    assert "only 5 function calls" in await error_of(sandbox, "while True:\n    echo(1)")
    stubborn = "while True:\n    try:\n        echo(1)\n    except Exception:\n        pass"
    assert "more than 5 function calls" in await error_of(sandbox, stubborn)


async def test_file_contents_are_never_executed(engine: Groundwire) -> None:
    text = "__import__('os').system('touch /tmp/groundwire-escape')\n'''\nimport socket\n'''\n\"}); raise SystemExit"
    async with Sandbox(functions_for(engine), {"evil'].py\n": text}, LIMITS) as sandbox:
        output = await sandbox.run("name = list(files)[0]\nread(name) == files[name], len(search('import'))")
        assert output.value == (True, 2)
        assert (await sandbox.run("files[name]")).value == text


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("verify_claim(3, None)", "TypeError"),
        ("verify_claim()", "TypeError"),
        ("verify_claim('a', 'b', nonsense=1)", "TypeError"),
        ("verify_claim('a', '')", "ValueError"),
        ("verify_claim('', 'b')", "ValueError"),
        ("verify_claim('a', 'b', 7.5)", "ValueError"),
        ("verify_claim('a', {'S0': 3})", "TypeError"),
        ("verify_claim(verify_claim('a b', 'c'), 'b')", "TypeError"),
        ("x = []\nfor _ in range(100000):\n    x = [x]\nverify_claim(x, x)", "TypeError"),
        ("audit_trace([{}, 3, None])", "Error"),
        ("refuse('input')", "ValueError: not this"),
        ("refuse('down')", "RuntimeError: gone"),
        ("refuse('type')", "TypeError: no"),
        ("no_such_function(1)", "NameError"),
        ("echo(1).nothing()", "AttributeError"),
    ],
)
async def test_function_failures_are_python_exceptions(sandbox: Sandbox, code: str, kind: str) -> None:
    assert kind in await error_of(sandbox, code)
    assert (await sandbox.run("1 + 1")).value == 2


async def test_code_can_catch_what_a_function_raises(sandbox: Sandbox) -> None:
    output = await sandbox.run("try:\n    refuse('down')\nexcept RuntimeError as error:\n    print('caught', error)")
    assert (output.stdout, output.error) == ("caught gone\n", None)


@pytest.mark.parametrize("code", ["def bad(:", "x = = 1", "\x00", "'\\ud800'", "", "   ", "raise SystemExit(3)",
                                  "raise KeyboardInterrupt", "echo", "class A: pass\nA()"])  # fmt: skip
async def test_run_never_raises(sandbox: Sandbox, code: str) -> None:
    await sandbox.run(code)
    assert (await sandbox.run("1 + 1")).value == 2


async def test_too_long_code_is_rejected(sandbox: Sandbox) -> None:
    assert "characters of code" in await error_of(sandbox, "x = 1\n" * 100_000)


async def test_sandboxes_are_isolated(engine: Groundwire) -> None:
    functions = functions_for(engine)
    async with Sandbox(functions, FILES, LIMITS) as one, Sandbox(functions, {}, LIMITS) as other:
        outputs = await asyncio.gather(one.run("x = 1\nlen(files)"), other.run("len(files)"))
        assert [output.value for output in outputs] == [1, 0]
        assert (await other.run("x")).error is not None


async def test_sandbox_works_after_a_cancelled_run(engine: Groundwire) -> None:
    held = asyncio.Event()

    async def wait() -> None:
        held.set()
        await asyncio.Event().wait()

    async with Sandbox({"wait": Function("wait", "", wait)}, {}, LIMITS) as sandbox:
        task = asyncio.create_task(sandbox.run("x = 1\nwait()"))
        await held.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await sandbox.run("1 + 1")).value == 2


async def test_files_do_not_count_against_the_memory_limit(engine: Groundwire) -> None:
    limits = SandboxConfig(seconds=5.0, memory_bytes=8_000_000)
    async with Sandbox({}, {"big": "a line of text\n" * 1_000_000}, limits) as sandbox:
        assert (await sandbox.run("len(files['big'])")).value == 15_000_000


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets one process bound another")
async def test_kernel_limits_the_worker(sandbox: Sandbox) -> None:
    await sandbox.run("1")
    worker = sandbox._session.worker_pid
    assert worker != os.getpid()
    sizes = limits_of(worker)
    assert sizes["Max file size"] == "0"
    assert sizes["Max address space"].isdigit()


def test_process_exits_cleanly() -> None:
    program = (
        "import asyncio\nfrom groundwire.agent.sandbox import Sandbox\n"
        "async def main():\n    async with Sandbox({}) as s:\n        print((await s.run('6 * 7')).value)\n"
        "asyncio.run(main())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "42\n")


async def test_interrupt_stops_code_at_once(engine: Groundwire) -> None:
    async with Sandbox(functions_for(engine), FILES, SandboxConfig(seconds=60.0)) as sandbox:
        assert (await sandbox.run("1")).value == 1
        under_way = asyncio.create_task(sandbox.run("while True: pass"))
        await asyncio.sleep(0.1)
        under_way.cancel()
        began = asyncio.get_running_loop().time()
        with pytest.raises(asyncio.CancelledError):
            await under_way
        assert (await sandbox.run("2")).value == 2
        assert asyncio.get_running_loop().time() - began < 30
