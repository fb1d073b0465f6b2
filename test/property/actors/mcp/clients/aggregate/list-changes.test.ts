// Notifications to a client about changed merged lists. In random order, servers become known, lists change,
// and the client requests lists and opens its stream. A model predicts the notifications of each second.

import fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { silentLog } from '../../../../../../actors/base/errors/log.ts';
import type { ListCompleteness } from '../../../../../../actors/mcp/clients/aggregate/list-changes.ts';
import type { ClientSession } from '../../../../../../actors/mcp/clients/sessions/session.ts';
import { MERGED_ADDRESS, Sessions } from '../../../../../../actors/mcp/clients/sessions/sessions.ts';
import { latestSessionVersion } from '../../../../../../actors/mcp/servers/cache/introduction.ts';
import { everyListKind, type ListKind, listKinds } from '../../../../../../actors/mcp/servers/lists/lists.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const kinds = fc.constantFrom(...everyListKind);
/**
 * `learn`: a server becomes known. `change`: a list changes. `changeAtServer`: a list changes for the clients
 * of one server. `ask`: a list request begins. `whole`, `partial` and `none` end the request with that part
 * of the list. `stream`: the client opens its stream. `wait`: a second passes.
 */
const anyStep = fc.oneof(
  fc.record({
    command: fc.constantFrom('learn', 'change', 'changeAtServer', 'ask', 'whole', 'partial', 'none'),
    kind: kinds,
  }),
  fc.record({ command: fc.constantFrom('wait', 'stream'), kind: kinds }),
);

/** A client, and a model that compares contents and predicts the notifications. */
class WatchedClient {
  readonly sessions = new Sessions({ maxSessions: 10, idleMs: 1e9, log: silentLog, onEnd: () => {} });
  readonly session: ClientSession;
  readonly notifications: string[] = [];
  /** Current versions of the lists. */
  readonly currentVersions = new Map<ListKind, number>();
  /** Versions of the lists that the client last received or was notified of. */
  readonly seenVersions = new Map<ListKind, number>();
  /** Lists that changed before the client received them. */
  readonly changed = new Set<ListKind>();
  /** Functions that complete the pending list requests. */
  readonly pendingRequests = new Map<ListKind, ((answer: ListCompleteness) => void)[]>();

  constructor() {
    this.session = this.sessions.create({
      target: undefined,
      protocolVersion: latestSessionVersion,
      clientInfo: {},
      capabilities: {},
    });
  }

  open(): void {
    if (this.session.stream !== undefined) return;
    const send = (message: Buffer) => void this.notifications.push(JSON.parse(message.toString()).method);
    this.session.stream = { isConnected: true, send, end: () => {} };
    this.sessions.notifyMissed(this.session);
  }

  /** Returns true if the client's copy is outdated. Without a copy, only a change counts. */
  isDue(kind: ListKind): boolean {
    const seen = this.seenVersions.get(kind);
    return seen === undefined ? this.changed.has(kind) : seen !== (this.currentVersions.get(kind) ?? 0);
  }

  /** Lets a second pass, and compares the sent notifications with the due notifications. */
  wait(): void {
    const expected = new Set<string>();
    for (const kind of everyListKind) {
      const { changed: notification } = listKinds[kind];
      // Resources and resource templates share a notification.
      const sameNotification = everyListKind.filter((other) => listKinds[other].changed === notification);
      const isRequested = sameNotification.some(
        (other) => (this.pendingRequests.get(other)?.length ?? 0) > 0,
      );
      const isDue = sameNotification.some((other) => this.isDue(other));
      if (this.session.stream !== undefined && !isRequested && isDue) expected.add(notification);
    }
    this.notifications.length = 0;
    vi.advanceTimersByTime(1000);
    expect([...this.notifications].sort()).toEqual([...expected].sort());
    for (const kind of everyListKind) {
      if (!expected.has(listKinds[kind].changed)) continue;
      this.changed.delete(kind);
      if (this.seenVersions.has(kind)) this.seenVersions.set(kind, this.currentVersions.get(kind) ?? 0);
    }
  }
}

test('a client is notified exactly if its copy of a list is outdated, and never during a list request', () => {
  fc.assert(
    fc.property(fc.array(anyStep, { maxLength: 40 }), (steps) => {
      const watched = new WatchedClient();
      const { sessions, session, currentVersions, seenVersions, changed, pendingRequests } = watched;
      for (const { command, kind } of steps) {
        const pending = pendingRequests.get(kind) ?? [];
        pendingRequests.set(kind, pending);
        if (command === 'learn' || command === 'change') {
          currentVersions.set(kind, (currentVersions.get(kind) ?? 0) + 1);
          if (command === 'change') changed.add(kind);
          // `learn`: lists of a server became known, which concerns only the merged view at /mcp. `change`:
          // the lists of server `s` changed.
          sessions.announce(command === 'learn' ? MERGED_ADDRESS : 's', [kind], command === 'learn');
          // Concerns only clients at the address of server `s`, not this client at /mcp.
        } else if (command === 'changeAtServer') sessions.announceAt('s', [kind]);
        else if (command === 'ask') pending.push(sessions.beginListRequest(session, kind));
        else if (command === 'stream') watched.open();
        else if (command === 'wait') watched.wait();
        else {
          const end = pending.shift();
          if (end === undefined) continue;
          // Completes the list request. During the request the session holds notifications back.
          end(command as ListCompleteness);
          // A partial list does not replace a copy.
          if (command === 'none' || (command === 'partial' && seenVersions.has(kind))) continue;
          seenVersions.set(kind, currentVersions.get(kind) ?? 0);
          changed.delete(kind);
        }
      }
      watched.wait();
      sessions.close();
    }),
    { numRuns: 500 },
  );
});

test('servers that become known while a client waits for its first list cause no notification', () => {
  const watched = new WatchedClient();
  watched.open();
  const { sessions, session } = watched;
  sessions.announce(MERGED_ADDRESS, ['tools'], true);
  const end = sessions.beginListRequest(session, 'tools');
  for (let server = 0; server < 4; server += 1) {
    vi.advanceTimersByTime(1000);
    sessions.announce(MERGED_ADDRESS, ['tools'], true);
  }
  end('whole');
  vi.advanceTimersByTime(1000);
  expect(watched.notifications).toEqual([]);
  sessions.announce(MERGED_ADDRESS, ['tools'], true);
  vi.advanceTimersByTime(1000);
  expect(watched.notifications).toEqual(['notifications/tools/list_changed']);
  sessions.close();
});
