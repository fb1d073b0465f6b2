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

/** Changes a file, and gives control back when the watch has heard of it: then it begins to wait anew. */
async function change(text: string): Promise<void> {
  const begun = vi.spyOn(globalThis, 'setTimeout');
  writeFileSync(join(folder, 'a.yaml'), text);
  const endsAt = Date.now() + 10_000;
  while (begun.mock.calls.length === 0) {
    if (Date.now() > endsAt) throw new Error('nothing was heard of the change');
    await new Promise((resolve) => setImmediate(resolve));
  }
  // Emptied and written are two news of one change.
  for (let round = 0; round < 20; round += 1) await new Promise((resolve) => setImmediate(resolve));
  begun.mockRestore();
}

test('several changes with little between them are told once, when it is quiet', async () => {
  for (const text of ['', 'half', 'whole']) {
    await change(text);
    vi.advanceTimersByTime(200);
    expect(onChange).not.toHaveBeenCalled();
  }
  vi.advanceTimersByTime(60);
  expect(onChange).toHaveBeenCalledTimes(1);
});

test('changes without an end are told of all the same', async () => {
  for (let count = 0; count < 11; count += 1) {
    await change(String(count));
    vi.advanceTimersByTime(200);
  }
  expect(onChange).toHaveBeenCalledTimes(1);
});
