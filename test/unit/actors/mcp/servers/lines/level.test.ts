// Log level of lines, from the level field or the line format.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  isAtLeast,
  levelByName,
  levelOf,
  lineLevels,
  stderrLevels,
} from '../../../../../../actors/mcp/servers/lines/level.ts';

const examples = {
  debug: [
    '{"level":20,"msg":"x"}',
    'DEBUG: x',
    '2026-11-24 10:00:00,123 - mcp.server.lowlevel - DEBUG - x',
    'D1124 10:00:00.1 main.go:1] x',
  ],
  info: [
    'Secure filesystem server, no error so far',
    'listening at 127.0.0.1:8080',
    '{"time":"10:00","level":"info","msg":"\\"level\\":\\"error\\""}',
    'INFO:     Application startup complete',
    '2026/11/24 10:00:00 3 errors were mended',
    'GET /ERROR 200',
    'npm notice New version',
    'error.log is written',
    '',
    '[12 more lines not shown]',
  ],
  warn: [
    '[warn] x',
    '(node:12) [DEP0040] DeprecationWarning: x',
    'time=10:00 level=warning msg=x',
    '2026-11-24T10:00:00.1Z  WARN app::db: x',
    'npm warn deprecated x',
    '[10:00:01 WRN] x',
    'WARNING:root:x',
    '{"severity":"WARNING"}',
    'warning: x',
  ],
  error: [
    'error: x',
    'Error: x',
    'TypeError: x is not a function',
    'Error [ERR_MODULE_NOT_FOUND]: x',
    'Traceback (most recent call last):',
    'java.io.IOException: x',
    'fail: Microsoft.Hosting[0]',
    '2026-11-24 10:00:00 [main] ERROR com.acme.Db - x',
    '10:00:00 error x',
    '{"level":60}',
    '{"@level":"x","levelname":"CRITICAL"}',
    'E1124 10:00:00.1 main.go:1] x',
    "thread 'main' panicked at src/main.rs",
    'npm error code E404',
    'npm ERR! code E404',
    'Failed to connect',
    'panic: x',
  ],
};

describe('the level of a log line', () => {
  test.each(lineLevels.flatMap((level) => examples[level].map((line) => [level, line] as const)))(
    'is %s for %j',
    (level, line) => {
      expect(levelOf(line)).toBe(level);
    },
  );

  test('is inherited by an indented line, such as a stack frame, from the line above of the same process', () => {
    const [one, other] = [stderrLevels(), stderrLevels()];
    expect(['TypeError: x', '    at main (a.js:1)', '\tat b'].map(one)).toEqual(['error', 'error', 'error']);
    expect(other('  indented')).toBe('info');
    expect(one('done')).toBe('info');
  });

  test('is one of the four levels for any line, in linear time', () => {
    const words = fc.constantFrom(
      'ERROR',
      '[warn]',
      '{"level":',
      'level=',
      '10:00:00',
      '-',
      '|',
      "thread '",
      '"',
      ' ',
    );
    const lines = fc.array(fc.oneof(fc.string(), words), { maxLength: 30 });
    fc.assert(
      fc.property(lines, fc.constantFrom('', ' '), (parts, between) => {
        expect(lineLevels).toContain(levelOf(parts.join(between)));
      }),
    );
    const startedAt = performance.now();
    for (const part of ['[', '1:1 ', "thread '", 'a.', '{"level":']) levelOf(part.repeat(1_000_000));
    expect(performance.now() - startedAt).toBeLessThan(1_000);
  });
});

test('log level names of other programs are mapped to the four levels of the gateway, which are ordered', () => {
  expect(['warning', 'CRITICAL', 'notice', 'trace', 'loud'].map(levelByName)).toEqual([
    'warn',
    'error',
    'info',
    'debug',
    undefined,
  ]);
  expect(lineLevels.filter((level) => isAtLeast(level, 'warn'))).toEqual(['warn', 'error']);
});
