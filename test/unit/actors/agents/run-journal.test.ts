import { describe, expect, it } from 'vitest';
import { RunJournal } from '../../../../actors/agents/run-journal.ts';
import type { Effects } from '../../../../actors/inbox/work.ts';
import type { JournalRow } from '../../../../machines/agent-run/journal.ts';

const row = (id: string): JournalRow => ({ kind: 'called', id });

function opened(state?: string) {
  const kept: { readonly state: string | null | undefined; readonly effects: Effects | undefined }[] = [];
  const journal = RunJournal.open('oncall', {
    state,
    steps: async () => [JSON.stringify(row('before'))],
    checkpoint: async (next, effects) => {
      await new Promise((resolve) => setTimeout(resolve, 5));
      kept.push({ state: next, effects });
    },
  });
  const ids = () =>
    kept.map(({ effects }) => (effects?.steps ?? []).map((text) => (JSON.parse(text) as { id: string }).id));
  return { journal, kept, ids };
}

describe('the journal of a run', () => {
  it('writes each row once, in order, however many ask for it at a time (JL1)', async () => {
    const { journal, ids } = opened();
    const rows = await journal;
    rows.add(row('a'));
    const first = rows.flush();
    rows.add(row('b'), row('c'));
    await Promise.all([first, rows.flush(), rows.flush()]);
    rows.add(row('d'));
    expect(rows.take().steps).toEqual([JSON.stringify(row('d'))]);
    await rows.flush();
    expect(ids().flat()).toEqual(['a', 'b', 'c']);
    expect(rows.rows).toHaveLength(5);
  });

  it('counts what the attempts before it have worked (JL2)', async () => {
    const { journal, kept } = opened('{"worked_ms":60000}');
    const rows = await journal;
    rows.add(row('a'));
    await rows.flush();
    expect(JSON.parse(kept[0]?.state ?? '').worked_ms).toBeGreaterThanOrEqual(60_000);
    expect(JSON.parse(kept[0]?.effects?.run?.figures ?? '')).toMatchObject({ tool_calls: 2 });
    for (const state of [undefined, 'no JSON', '{}', '{"worked_ms":"1"}'])
      expect((await opened(state).journal).workedMs).toBeLessThan(1_000);
  });
});
