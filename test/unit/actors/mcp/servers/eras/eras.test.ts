// A server under `era: auto` whose process ends at `server/discover` without a word: how many processes it takes to know
// what that means, and what is kept of it.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Era } from '../../../../../../actors/mcp/jsonrpc/modern-meta.ts';
import { FakeManaged, settle } from '../../../../../fixtures/server/fake-server.ts';

/** What a process does when it gets the first request of an era. */
type Manner = 'answers' | 'ends' | 'refuses';

let managed: FakeManaged;
let manners: Record<Era, Manner>;

const firsts = { 'server/discover': 'modern', initialize: 'legacy' } as const;
const answers = {
  legacy: { protocolVersion: '2025-06-18', capabilities: {}, serverInfo: { name: 'fake', version: '1' } },
  modern: { supportedVersions: ['2026-07-28'], capabilities: {} },
};

beforeEach(() => {
  managed = new FakeManaged(
    { era: 'auto' },
    {
      isManual: true,
      onSent: (link, { method, message }) => {
        const era = firsts[method as keyof typeof firsts];
        if (era === undefined) return;
        if (manners[era] === 'ends') link.die();
        else if (manners[era] === 'answers') queueMicrotask(() => link.answer(message.id, answers[era]));
        else {
          const error = { code: -32022, message: 'Unsupported protocol version' };
          queueMicrotask(() => link.say({ jsonrpc: '2.0', id: message.id, error }));
        }
      },
    },
  );
});

afterEach(() => managed.end());

/** The eras of the processes that were started so far, in order. */
const started = () => managed.links.map(({ era }) => era);

describe('a process that ends at server/discover without a word', () => {
  test('is followed by the start itself, whose answer is the verdict', async () => {
    manners = { modern: 'ends', legacy: 'answers' };
    const { ear } = managed.call(undefined, '1', 'a');
    await settle(5);
    expect(started()).toEqual(['modern', 'legacy']);
    expect(managed.server.cache.eras).toEqual({ modern: false, legacy: true });
    managed.link.answer(managed.link.calls[0]?.message.id, 'yes');
    expect(ear.result).toBe('yes');
    // It is not asked again.
    managed.link.die();
    managed.actor.send({ type: 'due' });
    await managed.server.start();
    expect(started()).toEqual(['modern', 'legacy', 'legacy']);
  });

  test('and at the start too is one failure of two processes, each time, and no verdict', async () => {
    manners = { modern: 'ends', legacy: 'ends' };
    managed.call(undefined, '1', 'a');
    await settle(5);
    expect([managed.server.state, managed.server.lastError?.code]).toEqual(['failed', 'ERR_START_FAILED']);
    expect(started()).toEqual(['modern', 'legacy']);
    expect(managed.server.eras.known).toBeUndefined();
    managed.actor.send({ type: 'due' });
    await settle(5);
    expect([managed.server.state, managed.server.restarts]).toEqual(['failed', 1]);
    expect(started()).toEqual(['modern', 'legacy', 'modern', 'legacy']);
  });

  test('and refuses to start as a legacy server is asked anew, and may be a modern one', async () => {
    manners = { modern: 'ends', legacy: 'refuses' };
    managed.call(undefined, '1', 'a');
    await settle(5);
    expect([managed.server.state, managed.server.eras.known]).toEqual(['failed', undefined]);
    manners = { modern: 'answers', legacy: 'refuses' };
    await managed.server.start();
    expect(managed.server.eras.known).toEqual({ modern: true, legacy: false });
    expect(managed.link.era).toBe('modern');
  });
});
