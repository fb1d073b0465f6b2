// Selects the stderr line that explains the exit of a program. Node generates the output for Node programs.

import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Redactor } from '../../../../../../actors/base/errors/redact.ts';
import { informativeLine } from '../../../../../../actors/mcp/links/stdio/exit-cause.ts';
import { StderrTail } from '../../../../../../actors/mcp/links/stdio/stderr-tail.ts';

/** Runs a Node program and returns the stored last lines. */
function linesOf(args: readonly string[], input = ''): readonly string[] {
  const { stderr } = spawnSync(process.execPath, args, { input });
  const tail = new StderrTail(new Redactor([]));
  tail.push(stderr);
  tail.end();
  return tail.lines;
}

describe('the exit of a Node program with an uncaught error', () => {
  // Ids and values of a minified bundle: the line is too long to be stored.
  const long = `/*${'x'.repeat(20_000)}*/`;
  test.each([
    ['an error', 'throw new TypeError("no key")', 'TypeError: no key'],
    [
      'the thrown error after a logged error',
      'console.error(new Error("old")); throw new Error("new")',
      'Error: new',
    ],
    [
      'an error with members',
      'throw Object.assign(new Error("no key"), { code: 1, of: { a: [1] } })',
      'Error: no key',
    ],
    ['an error with a cause', 'throw new Error("no key", { cause: new Error("why") })', 'Error: no key'],
    ['a multi-line error', 'throw new RangeError("no key\\n- a\\n- b")', 'RangeError: no key'],
    ['an error that contains another', 'throw new Error("no key\\nError: why")', 'Error: no key'],
    ['an error of a custom class', 'class Mishap extends Error {}; throw new Mishap("no key")', /: no key$/],
    ['a DOMException', 'throw new DOMException("no key", "AbortError")', /AbortError\b.*: no key$/],
    ['an error event', 'new (require("events"))().emit("error", new Error("no key"))', 'Error: no key'],
    ['a rejected promise', 'Promise.reject(new Error("no key"))', 'Error: no key'],
    ['a thrown string', 'throw "no key"', /no key$/],
    ['a syntax error', 'a b', /^SyntaxError: /],
    ['an error in a bundle', `${long}throw new Error("no key")`, 'Error: no key'],
  ])('is explained by %s', (_, program, expected) => {
    const lines = linesOf(['-'], program);
    expect(lines.at(-1)).toBe(`Node.js ${process.version}`);
    const error = informativeLine(lines)?.replace(/^its last error on stderr: /, '');
    if (typeof expected === 'string') expect(error).toBe(expected);
    else expect(error).toMatch(expected);
  });

  test('is explained by the syntax error, not by the TypeScript hint that Node 22 prints before it', () => {
    const remark = ['[stdin]:1', 'a b', '  ^', "Expected ';', '}' or <eof>"];
    const lines = [
      ...remark,
      "SyntaxError: Unexpected identifier 'b'",
      '    at x (y:1:2)',
      'Node.js v22.23.3',
    ];
    expect(informativeLine(lines)).toBe("its last error on stderr: SyntaxError: Unexpected identifier 'b'");
  });

  test('is explained by the missing file or package', () => {
    expect(informativeLine(linesOf(['nope.js']))).toMatch(/: Error: Cannot find module '.*nope\.js'$/);
    const importing = linesOf(['--input-type=module', '-'], 'import "nopackage"');
    expect(informativeLine(importing)).toMatch(
      /: Error \[ERR_MODULE_NOT_FOUND\]: Cannot find package 'nopackage'/,
    );
  });
});

test('the exit of a program other than Node is explained by its last stderr line, regardless of earlier errors', () => {
  expect(informativeLine(['Error: no answer yet', '    ^', 'trying again', 'fatal: no key'])).toBe(
    'its last line on stderr: fatal: no key',
  );
  expect(informativeLine([])).toBeUndefined();
});

test('the exit of a Node program is explained by the Node version line if no error precedes this line', () => {
  expect(informativeLine(['    at main', '}', 'Node.js v20.20.2'])).toBe(
    'its last line on stderr: Node.js v20.20.2',
  );
});

describe('a failed npx start is explained by npm', () => {
  const versions = {
    '1.0.0': { name: 'old', version: '1.0.0', dist: { tarball: 'http://127.0.0.1:9/t.tgz' } },
  };
  const packages: Readonly<Record<string, [number, object]>> = {
    '/old': [200, { name: 'old', 'dist-tags': { latest: '1.0.0' }, versions }],
    '/forbidden': [403, { error: 'forbidden' }],
  };
  const registry = createServer((request, response) => {
    const [status, body] = packages[request.url ?? ''] ?? [404, { error: 'Not found' }];
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  const cache = mkdtempSync(join(tmpdir(), 'actor-gateway-npm-'));
  let url: string;
  beforeAll(async () => {
    await new Promise<void>((resolve) => registry.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(registry.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    registry.close();
    rmSync(cache, { recursive: true, force: true });
  });

  test.each([
    ['does not exist', 'missing', /^its last error on stderr: 404 Not Found - GET http.*\/missing\b/],
    [
      'has no such version',
      'old@9.9.9',
      'its last error on stderr: No matching version found for old@9.9.9.',
    ],
    ['is forbidden', 'forbidden', /^its last error on stderr: 403 Forbidden - GET http.*\/forbidden\b/],
  ])('for a package that %s', async (_, name, expected) => {
    const env = { PATH: process.env.PATH, HOME: cache, npm_config_cache: cache, npm_config_registry: url };
    const lines = await new Promise<readonly string[]>((resolve) => {
      execFile('npx', ['-y', name], { env, cwd: cache, timeout: 40_000 }, (_error, _stdout, stderr) => {
        const tail = new StderrTail(new Redactor([]));
        tail.push(Buffer.from(stderr));
        tail.end();
        resolve(tail.lines);
      }).stdin?.end();
    });
    if (typeof expected === 'string') expect(informativeLine(lines)).toBe(expected);
    else expect(informativeLine(lines)).toMatch(expected);
  });
});

test.each([
  [
    'an old npm',
    `npm ERR! code E404
npm ERR! 404 Not Found - GET https://registry.npmjs.org/nope - Not found
npm ERR! 404
npm ERR! 404  'nope@*' is not in this registry.

npm ERR! A complete log of this run can be found in:
npm ERR!     /root/.npm/_logs/2026-debug-0.log`,
    '404 Not Found - GET https://registry.npmjs.org/nope - Not found',
  ],
  [
    'npm with no program in the package and an update notice',
    `npm error could not determine executable to run
npm error A complete log of this run can be found in: /root/.npm/_logs/debug-0.log
npm notice New major version of npm available! 10.8.2 -> 11.6.0`,
    'could not determine executable to run',
  ],
  [
    'npm without a registry',
    `npm error code ECONNREFUSED
npm error syscall connect
npm error errno ECONNREFUSED
npm error FetchError: request to http://127.0.0.1:9/nope failed, reason: connect ECONNREFUSED 127.0.0.1:9
npm error     at ClientRequest.<anonymous> (/usr/lib/node_modules/npm/index.js:130:14)
npm error   code: 'ECONNREFUSED',
npm error }
npm error
npm error If you are behind a proxy, please make sure that the 'proxy' config is set properly.
npm error A complete log of this run can be found in: /root/.npm/_logs/debug-0.log`,
    'FetchError: request to http://127.0.0.1:9/nope failed, reason: connect ECONNREFUSED 127.0.0.1:9',
  ],
  [
    'npm with a failing package script',
    `npm error code 1
npm error path /tmp/x/node_modules/native
npm error command failed
npm error command sh -c node-gyp rebuild
npm error gyp ERR! find Python
npm error A complete log of this run can be found in: /root/.npm/_logs/debug-0.log`,
    'command failed: sh -c node-gyp rebuild',
  ],
  [
    'uvx with an unknown package',
    `  × No solution found when resolving tool dependencies:
  ╰─▶ Because nope was not found in the package registry and you require nope, we can
      conclude that your requirements are unsatisfiable.

      hint: An index URL could not be queried`,
    'No solution found when resolving tool dependencies: Because nope was not found in the package registry and you require nope, we can conclude that your requirements are unsatisfiable.',
  ],
  [
    'uvx without a network',
    `error: Request failed after 3 retries
  Caused by: Failed to fetch: \`https://pypi.org/simple/nope/\`
  Caused by: dns error`,
    'error: Request failed after 3 retries; Caused by: Failed to fetch: `https://pypi.org/simple/nope/`; Caused by: dns error',
  ],
  [
    'uvx with no such program in the package',
    `An executable named \`nope\` is not provided by package \`black\`.
The following executables are available:
- black
- blackd`,
    'An executable named `nope` is not provided by package `black`.',
  ],
  [
    'docker with an unknown image',
    `Unable to find image 'mcp/nope:latest' locally
docker: Error response from daemon: pull access denied for mcp/nope, repository does not exist or may require 'docker login'.

Run 'docker run --help' for more information`,
    "docker: Error response from daemon: pull access denied for mcp/nope, repository does not exist or may require 'docker login'.",
  ],
  [
    'docker with an unknown option',
    `unknown flag: --foo

Usage:  docker run [OPTIONS] IMAGE [COMMAND] [ARG...]

Run 'docker run --help' for more information`,
    'unknown flag: --foo',
  ],
  [
    'an older docker without its daemon',
    `docker: Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?.
See 'docker run --help'.`,
    'docker: Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?.',
  ],
])('the cause of an exit is found in the output of %s', (_, text, expected) => {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  expect(informativeLine(lines)).toBe(`its last error on stderr: ${expected}`);
});

test('stderr lines that only resemble known error output are reported unchanged', () => {
  for (const lines of [
    ['x is wrong', '- one'],
    ['  × not framed'],
    ['npm error'],
    ['npm notice new version'],
  ])
    expect(informativeLine(lines)).toBe(`its last line on stderr: ${lines.at(-1)}`);
});
