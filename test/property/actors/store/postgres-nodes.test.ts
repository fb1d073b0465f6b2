// Three nodes (gateways) on the same PostgreSQL database, with random faults: nodes are suspended and return,
// claims (permissions to handle a key) expire, and results arrive late. No acknowledged event is lost, and
// each has one final result, in the order of its key (rules S1, S3 and S4 in actors/store/store.ts).

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
/**
 * Steps of a node. A turn is a claimed event; a commit may return the mailbox's next event for the same turn.
 * `claim` has the lease in milliseconds. `end` and `retry` commit a result for an open turn
 * (`of` selects it). `silence` lets the membership of the node expire, as if the node was suspended.
 */
const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant('append' as const), key: fc.nat(KEYS - 1) }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('claim' as const), ms: fc.constantFrom(30, 60_000) }) },
  { weight: 8, arbitrary: fc.record({ do: fc.constant('end' as const), of: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('retry' as const), of: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('silence' as const) }) },
  // Longer than the short claims, or than the interval at which a node renews its membership.
  { weight: 3, arbitrary: fc.record({ do: fc.constant('pass' as const), ms: fc.constantFrom(40, 350) }) },
);
/** Steps, each with a node number. */
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
      const openTurns: { readonly turn: Turn; readonly event: StoredEvent }[] = [];
      const completedIds: string[] = [];
      const appended: string[] = [];
      try {
        // Three concurrent steps, each on some node.
        for (let at = 0; at < plan.length; at += 3)
          await Promise.all(
            plan.slice(at, at + 3).map(async ([nodeIndex, action]) => {
              const store = nodes[nodeIndex]?.store;
              if (store === undefined) return;
              if (action.do === 'pass') await elapse(action.ms);
              else if (action.do === 'append') {
                const id = `e:${appended.length}`;
                appended.push(id);
                await store.append([eventOf(id, `k/${action.key}`)]);
              } else if (action.do === 'claim') {
                for (const turn of await store.claim(3, action.ms))
                  openTurns.push({ turn, event: turn.event });
              } else if (action.do === 'silence') {
                const name = 'abc'[nodeIndex];
                await client.query(`UPDATE actor_gateway.node SET until = 1 WHERE name = '${name}'`);
              } else {
                // The claim of the turn may have expired, or may belong to another node: some results are
                // late.
                const open = openTurns.splice(action.of % Math.max(1, openTurns.length), 1)[0];
                if (open === undefined) return;
                const outcome = action.do === 'end' ? 'done' : 'retrying';
                const [committed] = await store.commit([resultOf(open.turn, outcome, {}, open.event)]);
                if (committed?.isCurrent !== true) return;
                if (outcome === 'done') completedIds.push(open.event.id);
                if (committed.next !== undefined) openTurns.push({ turn: open.turn, event: committed.next });
              }
            }),
          );
        // All nodes have stopped. A new node completes all remaining events, without waiting for their
        // pauses.
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
              if (committed?.isCurrent === true) completedIds.push(event.id);
              event = committed?.next;
            }
          }
          await client.query(
            'UPDATE actor_gateway.mailbox SET ready_at = 0 WHERE fence IS NULL AND ready_at IS NOT NULL',
          );
          turns = await last.store.claim(50, 60_000);
        }
        expect([...completedIds].sort()).toEqual([...appended].sort());
        // Per key, the events were completed in the order in which they were stored.
        const { rows } = await client.query<{ id: string }>(
          `SELECT key, id, row_number() OVER (PARTITION BY key ORDER BY seq) = row_number() OVER (PARTITION BY key ORDER BY
             array_position($1::text[], id)) AS in_order FROM actor_gateway.delivery`,
          [completedIds],
        );
        expect(rows.filter((row) => !(row as unknown as { in_order: boolean }).in_order)).toEqual([]);
        const remaining = await client.query('SELECT key FROM actor_gateway.mailbox');
        expect(remaining.rows).toEqual([]);
      } finally {
        await Promise.all(nodes.map(({ store }) => store.close()));
        await client.end();
      }
    }),
    { numRuns: runs(20) },
  );
}, 240_000);
