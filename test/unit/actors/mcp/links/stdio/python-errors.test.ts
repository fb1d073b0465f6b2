// Selects the stderr line that explains the exit of a Python program. The texts were written by Python
// 3.11.7, uv 0.13.9, click 8.5.1, typer 0.29.2, Rich 15.0.0 and pydantic 2.14.4, with stderr to a pipe.

import { expect, test } from 'vitest';
import { Redactor } from '../../../../../../actors/base/errors/redact.ts';
import { informativeLine } from '../../../../../../actors/mcp/links/stdio/exit-cause.ts';
import { StderrTail } from '../../../../../../actors/mcp/links/stdio/stderr-tail.ts';

function reasonOf(text: string): string | undefined {
  const tail = new StderrTail(new Redactor([]));
  tail.push(Buffer.from(`${text}\n`));
  tail.end();
  return informativeLine(tail.lines);
}

test.each([
  [
    'a traceback',
    `Traceback (most recent call last):
  File "/srv/trace.py", line 2, in <module>
    f()
  File "/srv/trace.py", line 1, in f
    def f(): raise ValueError("no key given")
             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
ValueError: no key given`,
    'ValueError: no key given',
  ],
  [
    'chained tracebacks',
    `Traceback (most recent call last):
  File "/srv/chain.py", line 2, in <module>
    {}["a"]
    ~~^^^^^
KeyError: 'a'

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/srv/chain.py", line 4, in <module>
    raise RuntimeError("could not read the settings") from e
RuntimeError: could not read the settings`,
    'RuntimeError: could not read the settings',
  ],
  [
    'an exception group of asyncio',
    `  + Exception Group Traceback (most recent call last):
  |   File "/srv/group.py", line 5, in <module>
  |     asyncio.run(m())
  |   File "/usr/lib/python3.11/asyncio/runners.py", line 190, in run
  |     return runner.run(main)
  |            ^^^^^^^^^^^^^^^^
  |   File "/usr/lib/python3.11/asyncio/runners.py", line 118, in run
  |     return self._loop.run_until_complete(task)
  |            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  |   File "/usr/lib/python3.11/asyncio/base_events.py", line 653, in run_until_complete
  |     return future.result()
  |            ^^^^^^^^^^^^^^^
  |   File "/srv/group.py", line 4, in m
  |     async with asyncio.TaskGroup() as t: t.create_task(g())
  |   File "/usr/lib/python3.11/asyncio/taskgroups.py", line 145, in __aexit__
  |     raise me from None
  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "/srv/group.py", line 2, in g
    |     async def g(): raise ModuleNotFoundError("No module named 'x'")
    |                    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    | ModuleNotFoundError: No module named 'x'
    +------------------------------------`,
    "ModuleNotFoundError: No module named 'x'",
  ],
  [
    'an exception of pydantic with several lines',
    `Traceback (most recent call last):
  File "/srv/pyd.py", line 5, in <module>
    Settings()
  File "/srv/v/lib/python3.11/site-packages/pydantic/main.py", line 280, in __init__
    validated_self = self.__pydantic_validator__.validate_python(data, self_instance=self)
                     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
pydantic_core._pydantic_core.ValidationError: 2 validation errors for Settings
api_key
  Field required [type=missing, input_value={}, input_type=dict]
    For further information visit https://errors.pydantic.dev/2.14/v/missing
port
  Field required [type=missing, input_value={}, input_type=dict]
    For further information visit https://errors.pydantic.dev/2.14/v/missing`,
    'pydantic_core._pydantic_core.ValidationError: 2 validation errors for Settings api_key Field required [type=missing, input_value={}, input_type=dict] For further information visit https://errors.pydantic.dev/2.14/v/missing port Field required [type=missing, input_value={}, input_type=dict] For further information visit https://errors.pydantic.dev/2.14/v/missing',
  ],
  [
    'a traceback of typer with a wrapped message',
    `╭───────────────────── Traceback (most recent call last) ──────────────────────╮
│ /srv/typtrace.py:4 in m                                              │
│                                                                              │
│   1 import typer                                                             │
│   2 app = typer.Typer()                                                      │
│   3 @app.command()                                                           │
│ ❱ 4 def m(): raise RuntimeError("the database at                             │
│     postgres://db.example.com:5432/shop does not accept connections, giving  │
│     up after three tries")                                                   │
│   5 app()                                                                    │
│   6                                                                          │
╰──────────────────────────────────────────────────────────────────────────────╯
RuntimeError: the database at postgres://db.example.com:5432/shop does not 
accept connections, giving up after three tries`,
    'RuntimeError: the database at postgres://db.example.com:5432/shop does not accept connections, giving up after three tries',
  ],
  [
    'an error panel of typer',
    `Usage: typ2.py [OPTIONS]
Try 'typ2.py --help' for help.
╭─ Error ──────────────────────────────────────────────────────────────────────╮
│ Missing option '--database-of-the-shop-with-a-long-name' (env var:           │
│ 'SHOP_DATABASE_ADDRESS').                                                    │
╰──────────────────────────────────────────────────────────────────────────────╯`,
    "Missing option '--database-of-the-shop-with-a-long-name' (env var: 'SHOP_DATABASE_ADDRESS').",
  ],
  [
    'an error of click with choices',
    `Usage: clk.py [OPTIONS]
Try 'clk.py --help' for help.

Error: Missing option '--mode'. Choose from:
	a,
	b`,
    "Error: Missing option '--mode'. Choose from: a, b",
  ],
  [
    'a wrapped log record of Rich',
    `[11/30/26 02:01:50] INFO     Processing request of type PingRequest richlog.py:6
                    INFO     Starting server                        richlog.py:7
                    ERROR    database is locked, giving up after 3  richlog.py:8
                             tries with a pause of ten seconds                  `,
    'database is locked, giving up after 3 tries with a pause of ten seconds',
  ],
  [
    'a logged exception of Rich',
    `[11/30/26 02:01:54] ERROR    could not start the server             richexc.py:8
                             ╭─ Traceback (most recent call last)─╮             
                             │ /srv/richexc.py:6 in       │             
                             │ <module>                           │             
                             │                                    │             
                             │    3 from rich.logging import Rich │             
                             │    4 logging.basicConfig(level='IN │             
                             │      handlers=[RichHandler(console │             
                             │    5 try:                          │             
                             │ ❱  6 │   raise OSError('disk is fu │             
                             │    7 except OSError:               │             
                             │    8 │   logging.exception('could  │             
                             │    9 sys.exit(1)                   │             
                             ╰────────────────────────────────────╯             
                             OSError: disk is full                              `,
    'could not start the server OSError: disk is full',
  ],
  [
    'a failure of the interpreter',
    `Fatal Python error: init_fs_encoding: failed to get the Python codec of the filesystem encoding
Python runtime state: core initialized
ModuleNotFoundError: No module named 'encodings'

Current thread 0x00007f1b5c0f1740 (most recent call first):
  <no Python frame>`,
    "ModuleNotFoundError: No module named 'encodings'",
  ],
  [
    'uv without the package',
    `error: No solution found when resolving tool dependencies
  cause: Because mcp-nope was not found in the cache and you require mcp-nope, we can conclude that your requirements are unsatisfiable.

hint: Packages were unavailable because the network was disabled. When the network is disabled, registry packages may only be read from the cache.`,
    'error: No solution found when resolving tool dependencies; cause: Because mcp-nope was not found in the cache and you require mcp-nope, we can conclude that your requirements are unsatisfiable.',
  ],
  [
    'uv without a network',
    `error: Request failed after 3 retries in 10.1s
  cause: Failed to fetch: http://127.0.0.1:9/simple/mcp-nope/
  cause: error sending request for url (http://127.0.0.1:9/simple/mcp-nope/)
  cause: client error (Connect)
  cause: tcp connect error
  cause: Connection refused (os error 111)`,
    'error: Request failed after 3 retries in 10.1s; cause: Failed to fetch: http://127.0.0.1:9/simple/mcp-nope/; cause: error sending request for url (http://127.0.0.1:9/simple/mcp-nope/); cause: client error (Connect); cause: tcp connect error; cause: Connection refused (os error 111)',
  ],
  [
    'uv with a wrapped cause',
    `error: No solution found when resolving tool dependencies
  cause: Because the current Python version (3.11.7) does not satisfy Python>=3.12 and basic-memory<=0.15.0 depends on Python>=3.12.1, we can conclude that basic-memory<=0.15.0 cannot be used.
         And because only basic-memory<=0.15.0 is available, your requirements are unsatisfiable.`,
    'error: No solution found when resolving tool dependencies; cause: Because the current Python version (3.11.7) does not satisfy Python>=3.12 and basic-memory<=0.15.0 depends on Python>=3.12.1, we can conclude that basic-memory<=0.15.0 cannot be used. And because only basic-memory<=0.15.0 is available, your requirements are unsatisfiable.',
  ],
  [
    'uv with a hint only',
    `error: No interpreter found for Python 3.99 in managed installations or search path

hint: uv embeds available Python downloads and may require an update to install new versions. Consider retrying on a newer version of uv.`,
    'error: No interpreter found for Python 3.99 in managed installations or search path',
  ],
  [
    'uvx with an unknown option',
    `error: unexpected argument '--nope' found

  tip: a similar argument exists: '--no-preview'

Usage: uvx [OPTIONS] [COMMAND]

For more information, try '--help'.`,
    "error: unexpected argument '--nope' found",
  ],
])('the error for an exited Python MCP server or launcher contains its reason: %s', (_, text, expected) => {
  expect(reasonOf(text)).toBe(`its last error on stderr: ${expected}`);
});

test('the error for an exited Python MCP server skips pip notices on stderr', () => {
  const text = `ERROR: No matching distribution found for mcp-nope

[notice] A new release of pip is available: 23.0.1 -> 25.3
[notice] To update, run: pip install --upgrade pip`;
  expect(reasonOf(text)).toBe('its last line on stderr: ERROR: No matching distribution found for mcp-nope');
});

test('the error for an exited Python MCP server contains a line printed after a traceback, not the traceback', () => {
  const text = `Traceback (most recent call last):
  File "/srv/handled.py", line 2, in <module>
    try: {}["a"]
         ~~^^^^^
KeyError: 'a'
fatal: no token given`;
  expect(reasonOf(text)).toBe('its last line on stderr: fatal: no token given');
});

test('stderr lines that only resemble Python errors are reported unchanged', () => {
  for (const line of [
    'Error: no key',
    'INFO:     Started server process [1]',
    '  cause: none',
    'ValueError: x',
  ])
    expect(reasonOf(`starting\n${line}`)).toBe(`its last line on stderr: ${line}`);
});
