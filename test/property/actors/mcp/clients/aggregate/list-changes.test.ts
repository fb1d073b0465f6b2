// Notifications of changed merged lists, with fetched lists, requests, responses and aborts in random order.

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
 * `learn`: a server becomes known. `change`: a list changes. `ask`: a list request begins. `whole`, `partial`
 * and `none` end the request with that part of the list. `stream`: the client opens its stream.
 */
const step = fc.oneof(
  fc.record({
    do: fc.constantFrom('learn', 'change', 'changeAtServer', 'ask', 'whole', 'partial', 'none'),
    kind: kinds,
  }),
  fc.record({ do: fc.constantFrom('wait', 'stream'), kind: kinds }),
);

/** A client, and a model that compares contents and predicts the notifications. */
class WatchedClient {
  readonly sessions = new Sessions({ maxSessions: 10, idleMs: 1e9, log: silentLog, onEnd: () => {} });
  readonly session: ClientSession;
  readonly notifications: string[] = [];
  /** Current version of each list, and the version that the client last received or was notified of. */
  readonly now = new Map<ListKind, number>();
  readonly seenVersions = new Map<ListKind, number>();
  readonly changed = new Set<ListKind>();
  readonly asking = new Map<ListKind, ((answer: ListCompleteness) => void)[]>();

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

  isDue(kind: ListKind): boolean {
    const seen = this.seenVersions.get(kind);
    return seen === undefined ? this.changed.has(kind) : seen !== (this.now.get(kind) ?? 0);
  }

  /** Lets a second pass, and compares the sent notifications with the due notifications. */
  wait(): void {
    const expected = new Set<string>();
    for (const kind of everyListKind) {
      const { changed } = listKinds[kind];
      const together = everyListKind.filter((other) => listKinds[other].changed === changed);
      const isAsked = together.some((other) => (this.asking.get(other)?.length ?? 0) > 0);
      if (this.session.stream === undefined || isAsked || !together.some((other) => this.isDue(other)))
        continue;
      expected.add(changed);
    }
    this.notifications.length = 0;
    vi.advanceTimersByTime(1000);
    expect([...this.notifications].sort()).toEqual([...expected].sort());
    for (const kind of everyListKind) {
      if (!expected.has(listKinds[kind].changed)) continue;
      this.changed.delete(kind);
      if (this.seenVersions.has(kind)) this.seenVersions.set(kind, this.now.get(kind) ?? 0);
    }
  }
}

test('a client is notified exactly if its copy of a list is outdated, and never during a list request', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const watched = new WatchedClient();
      const { sessions, session, now, seenVersions: known, changed, asking } = watched;
      for (const { do: what, kind } of steps) {
        const waiting = asking.get(kind) ?? [];
        asking.set(kind, waiting);
        if (what === 'learn' || what === 'change') {
          now.set(kind, (now.get(kind) ?? 0) + 1);
          if (what === 'change') changed.add(kind);
          sessions.announce(what === 'learn' ? MERGED_ADDRESS : 's', [kind], what === 'learn');
          // Concerns only clients at the address of server `s`, not this client at /mcp.
        } else if (what === 'changeAtServer') sessions.announceAt('s', [kind]);
        else if (what === 'ask') waiting.push(sessions.beginListRequest(session, kind));
        else if (what === 'stream') watched.open();
        else if (what === 'wait') watched.wait();
        else {
          const end = waiting.shift();
          if (end === undefined) continue;
          // A notification that became due during the request is due afterwards.
          end(what as ListCompleteness);
          if (what === 'none' || (what === 'partial' && known.has(kind))) continue;
          known.set(kind, now.get(kind) ?? 0);
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
