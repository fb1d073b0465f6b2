import { describe, expect, test } from 'vitest';
import { counted, duration, latency } from '../../../../src/cli/views/figures.ts';
import { type Column, table } from '../../../../src/cli/views/table.ts';
import { printable } from '../../../../src/terminal/terminal-text.ts';

interface Row {
  readonly name: string;
  readonly size: number;
}

const columns: Column<Row>[] = [
  { title: 'NAME', text: ({ name }) => name, paint: (_, text) => `<${text}>` },
  { title: 'SIZE', isNumber: true, text: ({ size }) => String(size) },
  { title: 'NOTE', text: ({ name }) => `about ${name}` },
];
const rows = [
  { name: 'a', size: 1 },
  { name: 'longer', size: 12345 },
];

describe('a table', () => {
  test('has columns of their widest cell, numbers aligned right, and colours around the padding', () => {
    expect(table(columns, rows)).toEqual([
      'NAME     SIZE  NOTE',
      '<a     >      1  about a',
      '<longer>  12345  about longer',
    ]);
  });

  test('without rows has only its titles', () => {
    expect(table(columns, [])).toEqual(['NAME  SIZE  NOTE']);
  });

  test.each([0, 1, 5, 6, 7, 8, 9, 13, 15, 18, 40])('is at most %i columns wide', (width) => {
    for (const line of table(columns, rows, width))
      expect(line.replace(/[<>]/g, '').length).toBeLessThanOrEqual(width);
  });

  test('that is truncated keeps its left part', () => {
    expect(table(columns, rows, 18)).toEqual([
      'NAME     SIZE  NOT',
      '<a     >      1  abo',
      '<longer>  12345  abo',
    ]);
  });
});

describe('text helpers of the command line', () => {
  test.each([
    [0, '0s'],
    [59.9, '59s'],
    [60, '1m 00s'],
    [3_599, '59m 59s'],
    [3_600, '1h 00m'],
    [86_399, '23h 59m'],
    [86_400, '1d 00h'],
    [1_000_000, '11d 13h'],
    [-5, '0s'],
  ])('%d seconds are %s', (seconds, text) => expect(duration(seconds)).toBe(text));

  test.each([
    [null, '-'],
    [0.448, '0.45ms'],
    [5.563, '5.6ms'],
    [42.4, '42ms'],
    [2_100, '2.1s'],
  ])('a latency of %s ms is %s', (ms, text) => expect(latency(ms)).toBe(text));

  test('counted() uses the singular for the count 1', () => {
    expect([0, 1, 2].map((count) => counted(count, 'server'))).toEqual([
      '0 servers',
      '1 server',
      '2 servers',
    ]);
  });

  test('printable() reduces untrusted text to one line without control sequences', () => {
    expect(printable('two\nlines\t\u001b[2J\u009b31m \u202eback')).toBe('two lines ?back');
  });
});
