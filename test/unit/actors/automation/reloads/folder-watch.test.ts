import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { FolderWatch } from '../../../../../actors/automation/reloads/folder-watch.ts';

let folder: string;
let watch: FolderWatch;
const onChange = vi.fn();

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'] });
  onChange.mockClear();
  folder = mkdtempSync(join(tmpdir(), 'folder-watch-'));
  watch = new FolderWatch(folder, onChange);
});
afterEach(() => {
  watch.close();
  vi.useRealTimers();
  rmSync(folder, { recursive: true });
});

/** Changes a file; returns when the watch has restarted the timer. */
async function change(text: string): Promise<void> {
  const timers = vi.spyOn(globalThis, 'setTimeout');
  writeFileSync(join(folder, 'a.yaml'), text);
  const endsAt = Date.now() + 10_000;
  while (timers.mock.calls.length === 0) {
    if (Date.now() > endsAt) throw new Error('the change was not noticed');
    await new Promise((resolve) => setImmediate(resolve));
  }
  // A change causes two notifications: truncating and writing.
  for (let round = 0; round < 20; round += 1) await new Promise((resolve) => setImmediate(resolve));
  timers.mockRestore();
}

test('several quick changes in a folder cause one notification, after a quiet period', async () => {
  for (const text of ['', 'half', 'whole']) {
    await change(text);
    vi.advanceTimersByTime(200);
    expect(onChange).not.toHaveBeenCalled();
  }
  vi.advanceTimersByTime(60);
  expect(onChange).toHaveBeenCalledTimes(1);
});

test('continuous changes in a folder cause a notification without a quiet period', async () => {
  for (let count = 0; count < 11; count += 1) {
    await change(String(count));
    vi.advanceTimersByTime(200);
  }
  expect(onChange).toHaveBeenCalledTimes(1);
});
