// The state of a client session in its record, the stored data from which the session is restored.

import { afterEach, expect, test } from 'vitest';
import { ReplayBudget } from '../../../../../../actors/mcp/clients/sessions/replay-budget.ts';
import { ClientSession } from '../../../../../../actors/mcp/clients/sessions/session.ts';
import { applyState, readState } from '../../../../../../actors/mcp/clients/sessions/session-state.ts';
import { readClientMessage } from '../../../../../../actors/mcp/jsonrpc/read-message.ts';
import { FakeManagedServer } from '../../../../../fixtures/server/fake-server.ts';

let managed: FakeManagedServer;
afterEach(() => managed.end());

const newSession = () =>
  new ClientSession({
    id: 's',
    target: undefined,
    protocolVersion: '2025-06-18',
    clientInfo: {},
    capabilities: {},
    replayBudget: new ReplayBudget(),
    onConnectionLost: () => {},
  });

const updateOf = (session: ClientSession, uri: string) => {
  const message = { jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri } };
  const envelope = readClientMessage(Buffer.from(JSON.stringify(message)));
  return JSON.parse(session.qualifiedSubscriptions.updateFor(envelope, 'fake').toString()).params.uri;
};

test('resource update notifications in a restored session contain the URIs to which its client subscribed', () => {
  managed = new FakeManagedServer({});
  const { server } = managed;
  const session = newSession();
  for (const uri of ['doc://a', 'doc://b']) server.subscriptions.add(uri, session);
  session.qualifiedSubscriptions.note('fake', 'doc://b', true);
  const stored = JSON.parse(JSON.stringify(readState(session, [server])));
  expect(stored.subscriptions).toEqual([
    ['fake', 'doc://a'],
    ['fake', 'doc://b', true],
  ]);
  const restored = newSession();
  applyState(restored, stored, [server]);
  expect(['doc://a', 'doc://b'].map((uri) => updateOf(restored, uri))).toEqual(['doc://a', 'doc://fake~/b']);
  session.qualifiedSubscriptions.note('fake', 'doc://b', false);
  expect(updateOf(session, 'doc://b')).toBe('doc://b');
});
