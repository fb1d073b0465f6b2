// Who hears that a merged list has changed, whatever is learnt, asked, answered and given up in whatever order.

import fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { silentLog } from '../../../../../../actors/base/errors/log.ts';
import type { ListCompleteness } from '../../../../../../actors/mcp/clients/aggregate/list-changes.ts';
import type { ClientSession } from '../../../../../../actors/mcp/clients/sessions/session.ts';
import { EVERY_SERVER, Sessions } from '../../../../../../actors/mcp/clients/sessions/sessions.ts';
import { latestSessionVersion } from '../../../../../../actors/mcp/servers/cache/server-description.ts';
import { everyListKind, type ListKind, listKinds } from '../../../../../../actors/mcp/servers/lists/lists.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const kinds = fc.constantFrom(...everyListKind);
const step = fc.oneof(
  fc.record({
    do: fc.constantFrom('learn', 'change', 'claim', 'ask', 'whole', 'partial', 'none'),
    kind: kinds,
  }),
  fc.record({ do: fc.constantFrom('wait', 'stream'), kind: kinds }),
);

/** One client, and what the notices come to by a model that looks at contents. */
class Watched {
  readonly sessions = new Sessions({ maxSessions: 10, idleMs: 1e9, log: silentLog, onEnd: () => {} });
  readonly session: ClientSession;
  readonly heard: string[] = [];
  /** What every list is now, and what the client was shown or told of last. */
  readonly now = new Map<ListKind, number>();
  readonly known = new Map<ListKind, number>();
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
    const send = (message: Buffer) => void this.heard.push(JSON.parse(message.toString()).method);
    this.session.stream = { isConnected: true, send, end: () => {} };
    this.sessions.tellMissed(this.session);
  }

  isDue(kind: ListKind): boolean {
    const seen = this.known.get(kind);
    return seen === undefined ? this.changed.has(kind) : seen !== (this.now.get(kind) ?? 0);
  }

  /** What must be said once everything has come to rest. */
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
    this.heard.length = 0;
    vi.advanceTimersByTime(1000);
    expect([...this.heard].sort()).toEqual([...expected].sort());
    for (const kind of everyListKind) {
      if (!expected.has(listKinds[kind].changed)) continue;
      this.changed.delete(kind);
      if (this.known.has(kind)) this.known.set(kind, this.now.get(kind) ?? 0);
    }
  }
}

test('a client hears of a list just when that is another one than it was shown, and never while it asks (NW1, NW2)', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const watched = new Watched();
      const { sessions, session, now, known, changed, asking } = watched;
      for (const { do: what, kind } of steps) {
        const waiting = asking.get(kind) ?? [];
        asking.set(kind, waiting);
        if (what === 'learn' || what === 'change') {
          now.set(kind, (now.get(kind) ?? 0) + 1);
          if (what === 'change') changed.add(kind);
          sessions.announce(what === 'learn' ? EVERY_SERVER : 's', [kind], what === 'learn');
        } else if (what === 'claim') sessions.announceAt('s', [kind]);
        else if (what === 'ask') waiting.push(sessions.asksForList(session, kind));
        else if (what === 'stream') watched.open();
        else if (what === 'wait') watched.wait();
        else {
          const end = waiting.shift();
          if (end === undefined) continue;
          // A notice that was due meanwhile is due again from its end on.
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

test('of five servers that become known while a client waits for its first list it hears nothing (NW3)', () => {
  const watched = new Watched();
  watched.open();
  const { sessions, session } = watched;
  sessions.announce(EVERY_SERVER, ['tools'], true);
  const end = sessions.asksForList(session, 'tools');
  for (let server = 0; server < 4; server += 1) {
    vi.advanceTimersByTime(1000);
    sessions.announce(EVERY_SERVER, ['tools'], true);
  }
  end('whole');
  vi.advanceTimersByTime(1000);
  expect(watched.heard).toEqual([]);
  sessions.announce(EVERY_SERVER, ['tools'], true);
  vi.advanceTimersByTime(1000);
  expect(watched.heard).toEqual(['notifications/tools/list_changed']);
  sessions.close();
});
