import { describe, expect, test } from 'vitest';
import { Redactor } from '../../../../../../actors/base/errors/redact.ts';
import { LineRate } from '../../../../../../actors/mcp/links/stdio/line-rate.ts';
import { shownLine } from '../../../../../../actors/mcp/links/stdio/shown-line.ts';
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
  test('keeps the last fifty lines and the one that has not ended', () => {
    const { tail, logged } = tailOf(`${Array.from({ length: 90 }, (_, at) => `line ${at}\n`).join('')}half`);
    expect(tail.lines).toHaveLength(50);
    expect(tail.lines[0]).toBe('line 41');
    expect(tail.lines.at(-1)).toBe('half');
    expect(logged).toHaveLength(90);
    tail.end();
    expect(logged.at(-1)).toBe('half');
    expect(tail.lines.at(-1)).toBe('half');
  });

  test('takes no line more once its turn of the event loop is over', () => {
    const { tail } = tailOf('');
    const bytes = Buffer.from('one\ntwo\nthree');
    expect(tail.push(bytes, { isOver: true })).toBe(4);
    expect(tail.lines).toEqual(['one']);
    expect(tail.push(bytes.subarray(4), { isOver: false })).toBe(9);
    expect(tail.lines).toEqual(['one', 'two', 'three']);
  });

  test('puts characters together that were split between reads', () => {
    expect(tailOf('grüße 🎭 €\n', [], 1).tail.lines).toEqual(['grüße 🎭 €']);
  });

  test('takes out colours, control characters, carriage returns and empty lines', () => {
    const { tail } = tailOf('\u001b[31mred\u001b[0m\u0007\tx\r\n\r\n \n10%\r20%\r\u001b]0;title\u0007done\n');
    expect(tail.lines).toEqual(['red\tx', 'done']);
  });

  test('takes out links whole, colours that begin with one character, and the beginning of what is cut', () => {
    const link = '\u001b]8;;https://example.com/a;b\u001b\\text\u001b]8;;\u001b\\';
    const { tail } = tailOf(
      `\u009b1;31mred\u009b0m ${link} \u001b(Ba\u001b[?25lb\u001b[38:2::1:2:3mc \u001b[12\n`,
    );
    expect(tail.lines).toEqual(['red text abc 12']);
  });

  test('shows the last state of a line that was written over, however often the cursor went back', () => {
    expect(tailOf('10%\r20%\r\r\r\n\r\rdone\r\n').tail.lines).toEqual(['20%', 'done']);
  });

  test.each([
    ['carriage returns', (n: number) => `${'\r'.repeat(n)}x`],
    ['words between carriage returns', (n: number) => 'x\r'.repeat(n / 2)],
    ['a title that does not end', (n: number) => `\u001b]${';#'.repeat(n / 2)}!`],
    ['titles that do not end', (n: number) => '\u001b]a'.repeat(n / 3)],
    ['the same as single characters', (n: number) => '\u009d'.repeat(n)],
    ['a colour that does not end', (n: number) => `\u001b[${'1;'.repeat(n / 2)}`],
    ['what comes before a letter that never comes', (n: number) => `\u001b${'#'.repeat(n)}`],
  ])('a long line of %s takes no time worth mentioning', (_, lineOf) => {
    const redactor = new Redactor([]);
    // With the square of the length it would be half a minute.
    const raw = Buffer.from(lineOf(100_000));
    const start = performance.now();
    shownLine(raw, 500, redactor, false);
    expect(performance.now() - start).toBeLessThan(5000);
  });

  test('strikes secrets, also where a colour stands in the middle of one', () => {
    const { tail, logged } = tailOf('key top-\u001b[1msecret!\n', ['top-secret']);
    expect(tail.lines).toEqual(['key [redacted]!']);
    expect(logged).toEqual(['key [redacted]!']);
  });

  test('cuts a long line without showing a part of a secret, and holds little of it', () => {
    const secret = 's3cr3t-'.repeat(20);
    for (const before of [0, 400, 495, 499, 500, 1000]) {
      const { tail } = tailOf(`${'a'.repeat(before)}${secret}${'b'.repeat(100_000)}\nnext\n`, [secret], 5000);
      expect(tail.lines[0]).not.toContain('s3cr3t');
      expect(tail.lines[0]?.length).toBeLessThanOrEqual(511);
      expect(tail.lines[1]).toBe('next');
    }
  });

  test('gives the log a hundred lines of a flood and the count of the rest', () => {
    const { tail, logged } = tailOf('flood\n'.repeat(5000), [], 65536);
    tail.end();
    expect(logged.length).toBe(101);
    expect(logged.at(-1)).toBe('[4900 more lines not shown]');
  });
});

describe('a rate of lines', () => {
  test('begins anew with each second', () => {
    let now = 0;
    const shown: string[] = [];
    const rate = new LineRate(
      2,
      (line) => shown.push(line),
      () => now,
    );
    for (now = 0; now < 2000; now += 250) rate.offer(() => `at ${now}`);
    rate.end();
    rate.end();
    expect(shown).toEqual([
      'at 0',
      'at 250',
      '[2 more lines not shown]',
      'at 1000',
      'at 1250',
      '[2 more lines not shown]',
    ]);
  });
});
