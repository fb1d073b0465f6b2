// Final checks, after the faults: all acknowledged events are in a final state, comments were written once,
// the store is intact, and no process is left.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'libsql';

/** Longer than the maximum pause before retries of events that many crashes interrupted. */
const SETTLE_MS = 420_000;
const OPEN = 'queued,running,retrying,held';
const PAGE = 1000;

/** Resumes all triggers; resolves when no delivery is open. Reports a violation after SETTLE_MS. */
export async function settle({ operator, journal }) {
  const until = performance.now() + SETTLE_MS;
  for (;;) {
    const isResumed = await operator.resumeAll();
    const page = await operator.get(`/deliveries?state=${OPEN}&limit=5`);
    if (isResumed && page?.deliveries.length === 0) return;
    if (performance.now() > until) {
      const open = (page?.deliveries ?? []).map(({ id, state, note }) => `${id} is ${state} (${note})`);
      journal.violate('all work completes', open.join('; ') || 'the gateway does not answer');
      return;
    }
    await sleep(500);
  }
}

/** Returns all stored deliveries by id. */
export async function allDeliveries(operator) {
  const byId = new Map();
  for (let before; ; ) {
    const page = await operator.get(
      `/deliveries?limit=${PAGE}${before === undefined ? '' : `&before=${before}`}`,
    );
    for (const delivery of page?.deliveries ?? []) byId.set(delivery.id, delivery);
    before = page?.next_before;
    if (before === null || before === undefined) return byId;
  }
}

export function checkEvents({ deliveries, senders, operator, agents, host, journal }) {
  for (const [id, sort] of senders.acknowledged) {
    const { state, note } = deliveries.get(id) ?? { state: 'missing' };
    if (state === 'done') {
      if (!agents.answered.has(id))
        journal.violate('a completed event was answered', `${id}: its agent has not answered`);
    } else if (!isAllowedEnd(id, sort, state, operator))
      journal.violate('an acknowledged event is handled', `${id} is ${state}: ${note ?? ''}`);
    if (sort === 'repository' && state === 'done' && host.written.get(id) !== 1)
      journal.violate('a comment is written once', `${id}: ${host.written.get(id) ?? 0} times`);
  }
  for (const { id, conversation, state, note } of deliveries.values())
    if (conversation.startsWith('outbox/') && state !== 'done')
      journal.violate('every answer is sent', `${id} is ${state}: ${note}`);
}

/**
 * Events of `stuck` may become dead, because the agent never answers. Discarded events are `ignored`.
 */
function isAllowedEnd(id, sort, state, operator) {
  if (state === 'ignored') return operator.discarded.has(id);
  return state === 'dead' && sort === 'stuck';
}

/** Checks the file of the store, after the gateway has stopped. */
export function checkStore({ world, journal }) {
  const store = new Database(join(world.disk.folder, 'store.sqlite'), { readonly: true });
  try {
    const rows = store.prepare('PRAGMA integrity_check').all();
    const result = JSON.stringify(rows);
    if (!result.includes('"ok"')) journal.violate('the store is intact', result.slice(0, 500));
  } finally {
    store.close();
  }
}

/** Reports and kills processes of servers that are still running after the gateway has stopped. */
export async function checkProcesses({ world, journal }) {
  let remaining = [];
  for (let tries = 0; tries < 20; tries += 1) {
    remaining = processesWith(world.mark);
    if (remaining.length === 0) return;
    await sleep(250);
  }
  for (const { pid, command } of remaining) {
    journal.violate('no process is left behind', `${pid}: ${command}`);
    process.kill(pid, 'SIGKILL');
  }
}

function processesWith(mark) {
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
