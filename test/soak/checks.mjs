// What must hold at the end, when everybody is healed and nothing is left to do: every event that was acknowledged has come
// to its end, every comment was written once, the store is whole, and no process is left.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'libsql';

/** Longer than the longest pause, of what was there when the process ended often. */
const SETTLE_MS = 420_000;
const OPEN = 'queued,running,retrying,held';
const PAGE = 1000;

/** Waits until nothing is open any more. */
export async function settle({ operator, journal }) {
  const until = performance.now() + SETTLE_MS;
  for (;;) {
    const isResumed = await operator.resumeAll();
    const page = await operator.get(`/deliveries?state=${OPEN}&limit=5`);
    if (isResumed && page?.deliveries.length === 0) return;
    if (performance.now() > until) {
      const left = (page?.deliveries ?? []).map(({ id, state, note }) => `${id} is ${state} (${note})`);
      journal.violate('everything comes to an end', left.join('; ') || 'the gateway does not answer');
      return;
    }
    await sleep(500);
  }
}

/** All deliveries that are kept, by id. */
export async function allDeliveries(operator) {
  const found = new Map();
  for (let before; ; ) {
    const page = await operator.get(
      `/deliveries?limit=${PAGE}${before === undefined ? '' : `&before=${before}`}`,
    );
    for (const delivery of page?.deliveries ?? []) found.set(delivery.id, delivery);
    before = page?.next_before;
    if (before === null || before === undefined) return found;
  }
}

export function checkEvents({ deliveries, senders, operator, agents, host, journal }) {
  for (const [id, sort] of senders.acknowledged) {
    const { state, note } = deliveries.get(id) ?? { state: 'gone' };
    if (state === 'done') {
      if (!agents.answered.has(id))
        journal.violate('what is done was answered', `${id}: its agent has answered nothing`);
    } else if (!mayEndSo(id, sort, state, operator))
      journal.violate('what was acknowledged is handled', `${id} is ${state}: ${note ?? ''}`);
    if (sort === 'repository' && state === 'done' && host.written.get(id) !== 1)
      journal.violate('a comment is written once', `${id}: ${host.written.get(id) ?? 0} times`);
  }
  for (const { id, conversation, state, note } of deliveries.values())
    if (conversation.startsWith('outbox/') && state !== 'done')
      journal.violate('every answer is sent', `${id} is ${state}: ${note}`);
}

/** The agent of `stuck` never answers, and so its events may die; the rest ends otherwise only by hand. */
function mayEndSo(id, sort, state, operator) {
  if (state === 'ignored') return operator.discarded.has(id);
  return state === 'dead' && sort === 'stuck';
}

/** The store after the last stop, read by itself. */
export function checkStore({ world, journal }) {
  const store = new Database(join(world.disk.folder, 'store.sqlite'), { readonly: true });
  try {
    const rows = store.prepare('PRAGMA integrity_check').all();
    const said = JSON.stringify(rows);
    if (!said.includes('"ok"')) journal.violate('the store is whole', said.slice(0, 500));
  } finally {
    store.close();
  }
}

/** Processes with the mark of our servers, whoever started them, a moment after the gateway has ended. */
export async function checkProcesses({ world, journal }) {
  let left = [];
  for (let tries = 0; tries < 20; tries += 1) {
    left = marked(world.mark);
    if (left.length === 0) return;
    await sleep(250);
  }
  for (const { pid, command } of left) {
    journal.violate('no process is left behind', `${pid}: ${command}`);
    process.kill(pid, 'SIGKILL');
  }
}

function marked(mark) {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        if (!readFileSync(`/proc/${pid}/environ`, 'latin1').includes(`SOAK_MARK=${mark}`)) return [];
        const command = readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ');
        return [{ pid: Number(pid), command }];
      } catch {
        return [];
      }
    });
}
