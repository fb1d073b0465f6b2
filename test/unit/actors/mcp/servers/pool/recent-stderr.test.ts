// A server's recent stderr lines across restarts.

import { afterEach, describe, expect, test } from 'vitest';
import type { ServerEntry } from '../../../../../../config/catalog/catalog-schema.ts';
import type { FakeServer } from '../../../../../fixtures/server/fake-link.ts';
import { FakeManagedServer, FakeOwner, settle } from '../../../../../fixtures/server/fake-server.ts';

const open: FakeManagedServer[] = [];
afterEach(() => {
  for (const managed of open.splice(0)) managed.end();
});

function make(entry: Partial<ServerEntry> = {}, fake: FakeServer = {}): FakeManagedServer {
  const managed = new FakeManagedServer(entry, fake);
  open.push(managed);
  return managed;
}

const linesOf = ({ server }: FakeManagedServer) => server.pool.stderrTail;

async function running(managed: FakeManagedServer): Promise<void> {
  void managed.server.start();
  await settle(10);
  expect(managed.server.state).toBe('running');
}

describe('the recent stderr lines of a server', () => {
  test('are those of its process, also after it has crashed', async () => {
    const managed = make();
    await running(managed);
    managed.link.stderrTail = ['up', 'out of memory'];
    expect(linesOf(managed)).toEqual(['up', 'out of memory']);
    managed.link.die();
    await settle();
    expect(managed.server.state).toBe('failed');
    expect(managed.server.pool.members.size).toBe(0);
    expect(linesOf(managed)).toEqual(['up', 'out of memory']);
  });

  test('stay until the next process writes its first line', async () => {
    const managed = make();
    await running(managed);
    managed.link.stderrTail = ['out of memory'];
    managed.link.die();
    await settle();
    await running(managed);
    expect(linesOf(managed)).toEqual(['out of memory']);
    managed.link.stderrTail = ['up again'];
    expect(linesOf(managed)).toEqual(['up again']);
    await managed.server.stop();
    expect(linesOf(managed)).toEqual(['up again']);
  });

  test('include those of a failed start and of a killed process', async () => {
    const managed = make({}, { hasManualInitialize: true });
    const failed = managed.server.start();
    await settle();
    managed.link.stderrTail = ['no database'];
    managed.link.die();
    await expect(failed).rejects.toMatchObject({ code: 'ERR_START_FAILED', stderrTail: ['no database'] });
    expect(linesOf(managed)).toEqual(['no database']);
    managed.server.start().catch(() => {});
    await settle();
    managed.link.stderrTail = ['starting'];
    managed.actor.stop();
    await settle();
    expect(managed.link.wasClosed).toBe(true);
    expect(linesOf(managed)).toEqual(['starting']);
  });

  test('include all processes under session isolation; the lines of a new process replace those of a crashed one', async () => {
    const managed = make({ isolation: 'session', pool: { max: 4, in_flight: 9, waiting: 9 } });
    const [first, second, third] = ['one', 'two', 'three'].map((label) => new FakeOwner(label));
    managed.call(first, '1', 'a');
    await settle(10);
    managed.call(second, '1', 'b');
    await settle(10);
    const [link, other] = managed.links;
    if (link === undefined || other === undefined) throw new Error('two connections were to be opened');
    link.stderrTail = ['one was here', 'one fell over'];
    other.stderrTail = ['two was here'];
    link.die();
    await settle();
    expect(linesOf(managed)).toEqual(['two was here', 'one was here', 'one fell over']);
    managed.call(third, '1', 'c');
    await settle(10);
    expect(managed.links).toHaveLength(3);
    expect(linesOf(managed)).toEqual(['two was here', 'one was here', 'one fell over']);
    managed.link.stderrTail = ['three was here'];
    expect(linesOf(managed)).toEqual(['two was here', 'three was here']);
  });
});
