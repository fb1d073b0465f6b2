import { describe, expect, test } from 'vitest';
import { Redactor } from '../../../../../../actors/base/errors/redact.ts';
import { displayLine } from '../../../../../../actors/mcp/links/stdio/display-line.ts';
import { LineRate } from '../../../../../../actors/mcp/links/stdio/line-rate.ts';
import { StderrTail } from '../../../../../../actors/mcp/links/stdio/stderr-tail.ts';

function tailOf(
  text: string | Buffer,
  secrets: string[] = [],
  chunkSize = 7,
): { tail: StderrTail; logged: string[] } {
  const logged: string[] = [];
  const tail = new StderrTail(new Redactor(secrets), (line) => logged.push(line));
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += chunkSize) tail.push(bytes.subarray(at, at + chunkSize));
  return { tail, logged };
}

describe('the tail of stderr', () => {
  test('keeps the last fifty lines and the incomplete last line', () => {
    const { tail, logged } = tailOf(`${Array.from({ length: 90 }, (_, at) => `line ${at}\n`).join('')}half`);
    expect(tail.lines).toHaveLength(50);
    expect(tail.lines[0]).toBe('line 41');
    expect(tail.lines.at(-1)).toBe('half');
    expect(logged).toHaveLength(90);
    tail.end();
    expect(logged.at(-1)).toBe('half');
    expect(tail.lines.at(-1)).toBe('half');
  });

  test('stops reading after the current line when its time slice is over, and continues later', () => {
    const { tail } = tailOf('');
    const bytes = Buffer.from('one\ntwo\nthree');
    expect(tail.push(bytes, { isOver: true })).toBe(4);
    expect(tail.lines).toEqual(['one']);
    expect(tail.push(bytes.subarray(4), { isOver: false })).toBe(9);
    expect(tail.lines).toEqual(['one', 'two', 'three']);
  });

  test('joins characters that were split between reads', () => {
    expect(tailOf('grüße 🎭 €\n', [], 1).tail.lines).toEqual(['grüße 🎭 €']);
  });

  test('removes colours, control characters, carriage returns and empty lines', () => {
    const { tail } = tailOf('\u001b[31mred\u001b[0m\u0007\tx\r\n\r\n \n10%\r20%\r\u001b]0;title\u0007done\n');
    expect(tail.lines).toEqual(['red\tx', 'done']);
  });

  test('removes links, single-character colour codes and incomplete escape sequences', () => {
    const link = '\u001b]8;;https://example.com/a;b\u001b\\text\u001b]8;;\u001b\\';
    const { tail } = tailOf(
      `\u009b1;31mred\u009b0m ${link} \u001b(Ba\u001b[?25lb\u001b[38:2::1:2:3mc \u001b[12\n`,
    );
    expect(tail.lines).toEqual(['red text abc 12']);
  });

  test('shows the final state of an overwritten line after any number of carriage returns', () => {
    expect(tailOf('10%\r20%\r\r\r\n\r\rdone\r\n').tail.lines).toEqual(['20%', 'done']);
  });

  test.each([
    ['carriage returns', (n: number) => `${'\r'.repeat(n)}x`],
    ['words between carriage returns', (n: number) => 'x\r'.repeat(n / 2)],
    ['an unterminated title', (n: number) => `\u001b]${';#'.repeat(n / 2)}!`],
    ['many unterminated titles', (n: number) => '\u001b]a'.repeat(n / 3)],
    ['unterminated titles as single characters', (n: number) => '\u009d'.repeat(n)],
    ['an unterminated colour', (n: number) => `\u001b[${'1;'.repeat(n / 2)}`],
    ['unterminated escape characters', (n: number) => `\u001b${'#'.repeat(n)}`],
  ])('a long line of %s is processed in linear time', (_, lineOf) => {
    const redactor = new Redactor([]);
    // A quadratic algorithm needs half a minute.
    const raw = Buffer.from(lineOf(100_000));
    const start = performance.now();
    displayLine(raw, 500, redactor, false);
    expect(performance.now() - start).toBeLessThan(5000);
  });

  test('redacts secrets, even with a colour code inside', () => {
    const { tail, logged } = tailOf('key top-\u001b[1msecret!\n', ['top-secret']);
    expect(tail.lines).toEqual(['key [redacted]!']);
    expect(logged).toEqual(['key [redacted]!']);
  });

  test('cuts a long line without showing part of a secret, and stores only the beginning', () => {
    const secret = 's3cr3t-'.repeat(20);
    for (const before of [0, 400, 495, 499, 500, 1000]) {
      const { tail } = tailOf(`${'a'.repeat(before)}${secret}${'b'.repeat(100_000)}\nnext\n`, [secret], 5000);
      expect(tail.lines[0]).not.toContain('s3cr3t');
      expect(tail.lines[0]?.length).toBeLessThanOrEqual(511);
      expect(tail.lines[1]).toBe('next');
    }
  });

  test('logs a hundred lines of a flood, and the number of omitted lines', () => {
    const { tail, logged } = tailOf('flood\n'.repeat(5000), [], 65536);
    tail.end();
    expect(logged.length).toBe(101);
    expect(logged.at(-1)).toBe('[4900 more lines not shown]');
  });
});

describe('a progress bar on stderr', () => {
  /** A state as tqdm 4.67 draws it. */
  const bar = (step: number) =>
    `\rmodel.safetensors:  ${step}%|${'█'.repeat(step / 10)}| ${step}.0M/100M [00:0${step % 10}<00:09, 49.7MB/s]`;
  const states = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, n) => bar(from + n)).join('');

  function drawn() {
    let now = 0;
    const logged: string[] = [];
    const tail = new StderrTail(
      new Redactor([]),
      (line) => logged.push(line),
      () => now,
    );
    return {
      tail,
      logged,
      draw: (text: string, chunkSize = 1000) => {
        const bytes = Buffer.from(text);
        for (let at = 0; at < bytes.length; at += chunkSize) tail.push(bytes.subarray(at, at + chunkSize));
      },
      passSeconds: (seconds: number) => {
        now += seconds * 1000;
      },
    };
  }

  test.each([7, 1000, 100_000])(
    'is shown in its last state if received in pieces of %i bytes',
    (chunkSize) => {
      const { tail, draw } = drawn();
      draw(`loading\n${states(0, 99)}\n`.repeat(20), chunkSize);
      expect(tail.lines.at(-1)).toMatch(/^model\.safetensors: {2}98%/);
      expect(tail.lines).toHaveLength(40);
    },
  );

  test('is logged every five seconds, and at its end', () => {
    const { logged, draw, passSeconds } = drawn();
    for (let step = 0; step < 60; step += 1) {
      draw(bar(step));
      passSeconds(0.2);
    }
    draw(`${bar(60)}\n`);
    expect(logged.map((line) => /(\d+)%/.exec(line)?.[1])).toEqual(['0', '25', '50', '60']);
  });

  test('is kept in its last state when it is erased, until the next line replaces it', () => {
    const { tail, draw } = drawn();
    draw(`${bar(50)}\r${' '.repeat(60)}\r`);
    expect(tail.lines).toEqual([expect.stringMatching(/50%/)]);
    draw('ready\n');
    expect(tail.lines).toEqual(['ready']);
  });
});

test.each([1, 1000])(
  'stderr lines that end with CRLF are logged once if received in pieces of %i bytes',
  (chunkSize) => {
    const { tail, logged } = tailOf('one\r\ntwo\r\n', [], chunkSize);
    expect([tail.lines, logged]).toEqual([
      ['one', 'two'],
      ['one', 'two'],
    ]);
  },
);

describe('the lines that a server logs for each health ping', () => {
  /** Lines as the Python SDK writes them through Rich, which wraps them. */
  const pong = (second: string) =>
    `[11/28/26 20:21:${second}] INFO     Processing request of type            server.py:733\n` +
    `${' '.repeat(29)}PingRequest${' '.repeat(40)}\n`;

  function pinged() {
    let now = 0;
    const tail = new StderrTail(
      new Redactor([]),
      () => {},
      () => now,
    );
    const ping = (text: string, afterMs = 5) => {
      now += 30_000;
      tail.noteMessage();
      tail.notePing();
      now += afterMs;
      tail.push(Buffer.from(text));
    };
    return { tail, ping };
  }

  test('are kept only for the first ping', () => {
    const { tail, ping } = pinged();
    for (const second of ['00', '30', '59']) ping(pong(second));
    expect(tail.lines).toHaveLength(2);
    expect(tail.lines[0]).toContain('20:21:00');
  });

  test('do not hide lines logged for other messages or a second later', () => {
    const { tail, ping } = pinged();
    ping(pong('00'));
    ping(`${pong('30')}WARNING: the token expires in 3 days\n`);
    ping(pong('59'), 1_000);
    tail.noteMessage();
    tail.push(Buffer.from(pong('59')));
    expect(tail.lines).toHaveLength(2 + 1 + 2 + 2);
  });
});

describe('a line rate limit', () => {
  test('allows lines again each second', () => {
    let now = 0;
    const lines: string[] = [];
    const rate = new LineRate(
      2,
      (line) => lines.push(line),
      () => now,
    );
    for (now = 0; now < 2000; now += 250) rate.offer(() => `at ${now}`);
    rate.end();
    rate.end();
    expect(lines).toEqual([
      'at 0',
      'at 250',
      '[2 more lines not shown]',
      'at 1000',
      'at 1250',
      '[2 more lines not shown]',
    ]);
  });
});
