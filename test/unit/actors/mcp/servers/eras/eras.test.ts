// Era detection with `era: auto`, for a server process that exits at `server/discover` without a response:
// number of started processes, and stored result.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Era } from '../../../../../../actors/mcp/jsonrpc/modern-meta.ts';
import { FakeManagedServer, settle } from '../../../../../fixtures/server/fake-server.ts';

/** Reaction of the process to the first request of an era. */
type Reaction = 'answers' | 'ends' | 'refuses';

let managed: FakeManagedServer;
let reactions: Record<Era, Reaction>;

const eraByFirstRequest = { 'server/discover': 'modern', initialize: 'legacy' } as const;
const answers = {
  legacy: { protocolVersion: '2025-06-18', capabilities: {}, serverInfo: { name: 'fake', version: '1' } },
  modern: { supportedVersions: ['2026-07-28'], capabilities: {} },
};

beforeEach(() => {
  managed = new FakeManagedServer(
    { era: 'auto' },
    {
      hasManualInitialize: true,
      onSent: (link, { method, message }) => {
        const era = eraByFirstRequest[method as keyof typeof eraByFirstRequest];
        if (era === undefined) return;
        if (reactions[era] === 'ends') link.die();
        else if (reactions[era] === 'answers') queueMicrotask(() => link.answer(message.id, answers[era]));
        else {
          const error = { code: -32022, message: 'Unsupported protocol version' };
          queueMicrotask(() => link.say({ jsonrpc: '2.0', id: message.id, error }));
        }
      },
    },
  );
});

afterEach(() => managed.end());

/** Returns the eras of all started processes, in order. */
const startedEras = () => managed.links.map(({ era }) => era);

describe('a process that exits at server/discover without a response', () => {
  test('is followed by a start with sessions (legacy), whose response determines the protocol era', async () => {
    reactions = { modern: 'ends', legacy: 'answers' };
    const { recorder } = managed.call(undefined, '1', 'a');
    await settle(5);
    expect(startedEras()).toEqual(['modern', 'legacy']);
    expect(managed.server.cache.eras).toEqual({ modern: false, legacy: true });
    managed.link.answer(managed.link.calls[0]?.message.id, 'yes');
    expect(recorder.result).toBe('yes');
    // The detected era is not checked again.
    managed.link.die();
    managed.actor.send({ type: 'due' });
    await managed.server.start();
    expect(startedEras()).toEqual(['modern', 'legacy', 'legacy']);
  });

  test('counts as one failure if it also exits at a start with sessions, and its protocol era stays unknown', async () => {
    reactions = { modern: 'ends', legacy: 'ends' };
    managed.call(undefined, '1', 'a');
    await settle(5);
    expect([managed.server.state, managed.server.lastError?.code]).toEqual(['failed', 'ERR_START_FAILED']);
    expect(startedEras()).toEqual(['modern', 'legacy']);
    expect(managed.server.eras.knownEras).toBeUndefined();
    managed.actor.send({ type: 'due' });
    await settle(5);
    expect([managed.server.state, managed.server.restarts]).toEqual(['failed', 1]);
    expect(startedEras()).toEqual(['modern', 'legacy', 'modern', 'legacy']);
  });

  test('has its protocol era detected again later if it rejects a start with sessions', async () => {
    reactions = { modern: 'ends', legacy: 'refuses' };
    managed.call(undefined, '1', 'a');
    await settle(5);
    expect([managed.server.state, managed.server.eras.knownEras]).toEqual(['failed', undefined]);
    reactions = { modern: 'answers', legacy: 'refuses' };
    await managed.server.start();
    expect(managed.server.eras.knownEras).toEqual({ modern: true, legacy: false });
    expect(managed.link.era).toBe('modern');
  });
});
