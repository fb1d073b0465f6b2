// Three nodes on the same PostgreSQL, with faults in random order: silent and returning nodes, expired
// claims, aborted turns, late results. The record of each acknowledged event shows one final result, in the
// order of the key.
// The invariants S1, S3 and S4 are in actors/store/store.ts.

import { setTimeout as elapse } from 'node:timers/promises';
import fc from 'fast-check';
import pg from 'pg';
import { expect, test } from 'vitest';
import type { StoredEvent } from '../../../../actors/store/event.ts';
import { openPostgresStore } from '../../../../actors/store/postgres/open-postgres-store.ts';
import type { Turn } from '../../../../actors/store/store.ts';
import { runs } from '../../../fixtures/property-runs.ts';
import { newDatabase } from '../../../fixtures/store/shared-postgres.ts';
import { eventOf, resultOf } from '../../../fixtures/store/store-conformance.ts';

const KEYS = 4;
const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant('append' as const), key: fc.nat(KEYS - 1) }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('claim' as const), ms: fc.constantFrom(30, 60_000) }) },
  { weight: 8, arbitrary: fc.record({ do: fc.constant('end' as const), of: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('retry' as const), of: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('silence' as const) }) },
  // Longer than the short claims, or than the time until a node is declared dead.
  { weight: 3, arbitrary: fc.record({ do: fc.constant('pass' as const), ms: fc.constantFrom(40, 350) }) },
);
const steps = fc.array(fc.tuple(fc.nat(2), step), { maxLength: 60 });

test('no event is lost, duplicated or reordered by three nodes that end, are suspended and return (S1, S3, S4)', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (plan) => {
      const url = await newDatabase();
      const nodes = await Promise.all(
        ['a', 'b', 'c'].map((name) => openPostgresStore({ url, node: { name, address: '', ttlMs: 1_000 } })),
      );
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      const held: { readonly turn: Turn; readonly event: StoredEvent }[] = [];
      const ended: string[] = [];
      const appended: string[] = [];
      try {
        // Three concurrent steps, each on some node.
        for (let at = 0; at < plan.length; at += 3)
          await Promise.all(
            plan.slice(at, at + 3).map(async ([which, action]) => {
              const store = nodes[which]?.store;
              if (store === undefined) return;
              if (action.do === 'pass') await elapse(action.ms);
              else if (action.do === 'append') {
                const id = `e:${appended.length}`;
                appended.push(id);
                await store.append([eventOf(id, `k/${action.key}`)]);
              } else if (action.do === 'claim') {
                for (const turn of await store.claim(3, action.ms)) held.push({ turn, event: turn.event });
              } else if (action.do === 'silence') {
                const name = 'abc'[which];
                await client.query(`UPDATE actor_gateway.node SET until = 1 WHERE name = '${name}'`);
              } else {
                // Committed by the node that holds or held the claim, so some results are late.
                const one = held.splice(action.of % Math.max(1, held.length), 1)[0];
                if (one === undefined) return;
                const outcome = action.do === 'end' ? 'done' : 'retrying';
                const [committed] = await store.commit([resultOf(one.turn, outcome, {}, one.event)]);
                if (committed?.isCurrent !== true) return;
                if (outcome === 'done') ended.push(one.event.id);
                if (committed.next !== undefined) held.push({ turn: one.turn, event: committed.next });
              }
            }),
          );
        // All holders have stopped. A new node completes all remaining events.
        await Promise.all(nodes.map(({ store }) => store.close()));
        const last = await openPostgresStore({ url, node: { name: 'last', address: '', ttlMs: 1_000 } });
        nodes.push(last);
        await client.query('UPDATE actor_gateway.delivery SET retry_at = 0 WHERE retry_at IS NOT NULL');
        await client.query('UPDATE actor_gateway.mailbox SET ready_at = 0 WHERE fence IS NULL');
        for (let turns = await last.store.claim(50, 60_000); turns.length > 0; ) {
          for (const turn of turns) {
            let event: StoredEvent | undefined = turn.event;
            while (event !== undefined) {
              const [committed] = await last.store.commit([resultOf(turn, 'done', {}, event)]);
              if (committed?.isCurrent === true) ended.push(event.id);
              event = committed?.next;
            }
          }
          await client.query(
            'UPDATE actor_gateway.mailbox SET ready_at = 0 WHERE fence IS NULL AND ready_at IS NOT NULL',
          );
          turns = await last.store.claim(50, 60_000);
        }
        expect([...ended].sort()).toEqual([...appended].sort());
        const { rows } = await client.query<{ id: string }>(
          `SELECT key, id, row_number() OVER (PARTITION BY key ORDER BY seq) = row_number() OVER (PARTITION BY key ORDER BY
             array_position($1::text[], id)) AS in_order FROM actor_gateway.delivery`,
          [ended],
        );
        expect(rows.filter((row) => !(row as unknown as { in_order: boolean }).in_order)).toEqual([]);
        const left = await client.query('SELECT key FROM actor_gateway.mailbox');
        expect(left.rows).toEqual([]);
      } finally {
        await Promise.all(nodes.map(({ store }) => store.close()));
        await client.end();
      }
    }),
    { numRuns: runs(20) },
  );
}, 240_000);
