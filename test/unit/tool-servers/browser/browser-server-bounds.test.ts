// Limits of the browser server: console, screenshots, activity log, processor time. Also the search for an
// installed browser.

import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { findBrowser, NO_BROWSER } from '../../../../tool-servers/browser/chromium/find-browser.ts';
import { CpuMeter } from '../../../../tool-servers/browser/chromium/resource-watch.ts';
import { ActivityLog } from '../../../../tool-servers/browser/pages/activity-log.ts';
import { ConsoleFlood } from '../../../../tool-servers/browser/pages/console-flood.ts';
import { ConsoleLog, lineOf, truncate } from '../../../../tool-servers/browser/pages/console-log.ts';
import {
  type Screenshot,
  Screenshots,
  screenshotUri,
} from '../../../../tool-servers/browser/pages/screenshots.ts';

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

describe('the console log of the browser', () => {
  test('keeps the newest thousand entries, truncates long ones, and counts all', () => {
    let changes = 0;
    const log = new ConsoleLog(() => changes++);
    expect(log.text()).toContain('console is empty');
    for (let n = 1; n <= 4321; n++) log.add('log', `${n} ${'x'.repeat(3000)}`, 'http://page:1:2');
    expect(changes).toBe(4321);
    expect(log.lineCount).toBe(4321);
    const lines = log.text().split('\n');
    expect(lines).toHaveLength(1001);
    expect(lines[0]).toContain('3321 earlier entries were dropped');
    expect(lines[1]).toContain(' log: 3322 ');
    expect(lines[1]?.length).toBeLessThan(2200);
    expect(log.since(4319).map(({ number }) => number)).toEqual([4320, 4321]);
    expect(log.since(0)).toHaveLength(1000);
  });

  test('returns the number of errors since the last query', () => {
    const log = new ConsoleLog(() => {});
    log.add('error', 'a', '');
    log.add('warning', 'b', '');
    log.add('error', 'c', '');
    expect(log.takeErrors()).toBe(2);
    expect(log.takeErrors()).toBe(0);
  });

  test('formats an entry as one line, with further text lines indented', () => {
    const at = new Date(0);
    expect(lineOf({ number: 1, at, level: 'error', text: 'one\ntwo', location: 'p:1:2' })).toBe(
      '1970-01-01T00:00:00.000Z error: one\n    two (p:1:2)',
    );
    expect(truncate('abcdef', 3)).toBe('abc… (3 more characters)');
    expect(truncate('abc', 3)).toBe('abc');
  });
});

describe('a flood of browser console entries', () => {
  /** Returns the number of lines until a flood is detected; undefined if it is not detected. */
  const linesUntil = (perSecond: number, chars: number, seconds = 600) => {
    const flood = new ConsoleFlood();
    for (let n = 1; n <= perSecond * seconds; n++) if (flood.add(chars, (n / perSecond) * 1000)) return n;
    return undefined;
  };

  test('is detected for a sustained rate, not for a burst', () => {
    expect(linesUntil(900, 10)).toBeUndefined();
    expect(linesUntil(1_000_000, 10)).toBeGreaterThan(4_900);
    expect(linesUntil(1_000_000, 10)).toBeLessThan(5_200);
    expect(linesUntil(3_000, 10)).toBeLessThan(8_000);
  });

  test('is also detected for few, very long lines', () => {
    expect(linesUntil(10, 20_000_000)).toBeLessThan(20);
    expect(linesUntil(10, 10_000)).toBeUndefined();
  });

  test('is measured by the time of writing, in any order of arrival', () => {
    const flood = new ConsoleFlood();
    for (let n = 0; n < 4_000; n++) expect(flood.add(0, 5_000)).toBe(false);
    for (let n = 0; n < 900; n++) expect(flood.add(0, 1_000 + (n % 2) * -1)).toBe(false);
    for (let n = 0; n < 4_000; n++) expect(flood.add(0, 15_000)).toBe(false);
  });
});

describe('the screenshots', () => {
  const shot = (name: string, bytes = 10): Screenshot => ({
    name,
    mimeType: 'image/png',
    data: Buffer.alloc(bytes),
    width: 1,
    height: 1,
    pageUrl: '',
    at: new Date(0),
  });

  test('are at most fifty: the oldest is dropped, and one with the same name is replaced', () => {
    const shots = new Screenshots();
    for (let n = 0; n < 50; n++) expect(shots.add(shot(`${n}`))).toEqual([]);
    expect(shots.add(shot('0'))).toEqual([]);
    expect(shots.add(shot('new'))).toEqual(['1']);
    expect(shots.list()).toHaveLength(50);
    expect(shots.has('0')).toBe(true);
  });

  test('take at most 64 MB', () => {
    const shots = new Screenshots();
    const mb = 1024 * 1024;
    for (const name of ['a', 'b', 'c']) shots.add(shot(name, 20 * mb));
    expect(shots.add(shot('d', 20 * mb))).toEqual(['a']);
    expect(shots.add(shot('d', 4 * mb))).toEqual([]);
    expect(shots.add(shot('e', 20 * mb))).toEqual([]);
  });

  test('have a URI for any name', () => {
    expect(screenshotUri('a b/ü%')).toBe('screenshot://a%20b%2F%C3%BC%25');
  });
});

describe('the activity log of the browser', () => {
  test('returns each entry once, at most ten of each kind, with equal refusals grouped', () => {
    const activity = new ActivityLog();
    activity.addNavigation();
    for (let n = 0; n < 25; n++) activity.addDialog(`dialog ${n}`);
    for (let n = 0; n < 1000; n++) activity.addFailure({ authority: 'a:80', reason: 'no', isRefusal: true });
    activity.addFailure({ authority: 'b:80', reason: 'broken', isRefusal: false });
    const { hasNavigated, dialogs, refused } = activity.take();
    expect(hasNavigated).toBe(true);
    expect(dialogs).toHaveLength(11);
    expect(dialogs.at(-1)).toBe('and 15 more');
    expect(refused).toEqual(['a:80: no (500 times)']);
    expect(activity.take()).toEqual({
      hasNavigated: false,
      dialogs: [],
      downloads: [],
      notes: [],
      refused: [],
    });
  });

  test('returns the last failure of an address, or without an address prefers a refusal', () => {
    const activity = new ActivityLog();
    activity.addFailure({ authority: 'a:80', reason: 'first', isRefusal: false });
    activity.addFailure({ authority: 'b:80', reason: 'second', isRefusal: true });
    activity.addFailure({ authority: 'a:80', reason: 'third', isRefusal: false });
    expect(activity.failureOf('a:80')?.reason).toBe('third');
    expect(activity.failureOf('c:80')).toBeUndefined();
    expect(activity.lastFailure()?.reason).toBe('second');
  });
});

describe('the meter of processor time', () => {
  const limits = { maxMemoryMb: 1, maxCpuPercent: 90, maxCpuSeconds: 10 };
  const use = (pid: number, cpuSeconds: number) => ({ pid, type: 'renderer', cpuSeconds });

  test('returns nothing before its window is full, then the average over the window', () => {
    const meter = new CpuMeter(limits);
    expect(meter.sample([use(1, 100)], 0)).toBeUndefined();
    for (let second = 1; second < 10; second++)
      expect(meter.sample([use(1, 100 + second / 2)], second * 1000)).toBeUndefined();
    expect(meter.sample([use(1, 105)], 10_000)).toBeCloseTo(50);
    for (let second = 11; second <= 20; second++) meter.sample([use(1, 105 + second - 10)], second * 1000);
    expect(meter.sample([use(1, 116)], 21_000)).toBeCloseTo(100);
  });

  test('counts all processes, including new and ended processes', () => {
    const meter = new CpuMeter(limits);
    meter.sample([use(1, 50)], 0);
    meter.sample([use(1, 55), use(2, 3)], 5_000);
    expect(meter.sample([use(2, 5)], 10_000)).toBeCloseTo(100);
  });

  test('restarts after a reset, and measures nothing with a limit of 0', () => {
    const meter = new CpuMeter(limits);
    meter.sample([use(1, 0)], 0);
    meter.reset();
    expect(meter.sample([use(1, 10)], 10_000)).toBeUndefined();
    const off = new CpuMeter({ ...limits, maxCpuPercent: 0 });
    off.sample([use(1, 0)], 0);
    expect(off.sample([use(1, 100)], 10_000)).toBeUndefined();
  });
});

describe('the search for a browser', () => {
  test('returns the first known name on PATH, then the known places, and only executable files', () => {
    const folder = mkdtempSync(join(tmpdir(), 'find-browser-'));
    folders.push(folder);
    expect(findBrowser(folder, [])).toBeUndefined();
    mkdirSync(join(folder, 'chromium'));
    const chrome = join(folder, 'google-chrome');
    writeFileSync(chrome, '');
    expect(findBrowser(folder, [])).toBeUndefined();
    chmodSync(chrome, 0o755);
    expect(findBrowser(`relative:${folder}`, [])).toBe(chrome);
    expect(findBrowser('', [join(folder, 'absent'), chrome])).toBe(chrome);
    expect(NO_BROWSER).toContain('apt-get install chromium');
  });
});
