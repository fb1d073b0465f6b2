// Which line is told of what a program wrote on stderr. What Node writes is asked of Node itself.

import { spawnSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { Redactor } from '../../../../actors/redact.ts';
import { StderrTail } from '../../../../actors/upstream/stderr-tail.ts';
import { tellingLine } from '../../../../actors/upstream/telling-line.ts';

/** The last lines of a Node program, as a link keeps them. */
function linesOf(args: readonly string[], input = ''): readonly string[] {
  const { stderr } = spawnSync(process.execPath, args, { input });
  const tail = new StderrTail(new Redactor([]));
  tail.push(stderr);
  tail.end();
  return tail.lines;
}

describe('of a Node program that ends by an error nobody caught', () => {
  // Ids and values of a minified bundle: a line so long that what points into it is not kept.
  const long = `/*${'x'.repeat(20_000)}*/`;
  test.each([
    ['an error', 'throw new TypeError("no key")', 'TypeError: no key'],
    [
      'one of two, the other only logged',
      'console.error(new Error("old")); throw new Error("new")',
      'Error: new',
    ],
    [
      'one with members',
      'throw Object.assign(new Error("no key"), { code: 1, of: { a: [1] } })',
      'Error: no key',
    ],
    ['one with a cause', 'throw new Error("no key", { cause: new Error("why") })', 'Error: no key'],
    ['one of several lines', 'throw new RangeError("no key\\n- a\\n- b")', 'RangeError: no key'],
    ['one that repeats another', 'throw new Error("no key\\nError: why")', 'Error: no key'],
    ['one with a name of its own', 'class Mishap extends Error {}; throw new Mishap("no key")', /: no key$/],
    ['one of the platform', 'throw new DOMException("no key", "AbortError")', /AbortError\b.*: no key$/],
    [
      'an event of that name',
      'new (require("events"))().emit("error", new Error("no key"))',
      'Error: no key',
    ],
    ['a promise that was rejected', 'Promise.reject(new Error("no key"))', 'Error: no key'],
    ['what is no error', 'throw "no key"', /no key$/],
    ['a mistake of syntax', 'a b', /^SyntaxError: /],
    ['an error in a bundle', `${long}throw new Error("no key")`, 'Error: no key'],
  ])('%s is told', (_, program, told) => {
    const lines = linesOf(['-'], program);
    expect(lines.at(-1)).toBe(`Node.js ${process.version}`);
    const error = tellingLine(lines)?.replace(/^its last error on stderr: /, '');
    if (typeof told === 'string') expect(error).toBe(told);
    else expect(error).toMatch(told);
  });

  test('the file or the package that is missing is told', () => {
    expect(tellingLine(linesOf(['nope.js']))).toMatch(/: Error: Cannot find module '.*nope\.js'$/);
    const importing = linesOf(['--input-type=module', '-'], 'import "nopackage"');
    expect(tellingLine(importing)).toMatch(
      /: Error \[ERR_MODULE_NOT_FOUND\]: Cannot find package 'nopackage'/,
    );
  });
});

test('of any other program the last line is told, whatever errors it has written before', () => {
  expect(tellingLine(['Error: no answer yet', '    ^', 'trying again', 'fatal: no key'])).toBe(
    'its last line on stderr: fatal: no key',
  );
  expect(tellingLine([])).toBeUndefined();
});

test('of Node’s last words alone those are told', () => {
  expect(tellingLine(['    at main', '}', 'Node.js v20.20.2'])).toBe(
    'its last line on stderr: Node.js v20.20.2',
  );
});
