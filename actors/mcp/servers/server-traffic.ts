// Creates and connects the parts that carry a managed server's traffic: connections (the pool), calls,
// detection of the protocol era (sessions up to 2025-11-25, or stateless requests since 2026-07-28), and
// messages that the server sends by itself. Each part receives the parts created before it. Events of the
// pool use later parts, which exist before the first connection opens.

import type { ServerEntry } from '../../../config/catalog/catalog-schema.ts';
import { proxyFor } from '../../../libs/rest/proxy.ts';
import type { Log } from '../../base/errors/log.ts';
import type { ServerInstall } from '../installs/server-install.ts';
import type { Envelope } from '../jsonrpc/envelope.ts';
import type { Era } from '../jsonrpc/modern-meta.ts';
import type { Link, LinkEvents } from '../links/link.ts';
import type { ServerCache } from './cache/cache.ts';
import { latestSessionVersion } from './cache/introduction.ts';
import { ServerEras } from './eras/eras.ts';
import { Handle } from './handle.ts';
import { ServerDemand } from './life/server-demand.ts';
import type { ServerStatus } from './life/server-gate.ts';
import type { ServerLife } from './life/server-life.ts';
import { InvalidTools } from './lists/invalid-tools.ts';
import { ListNotices } from './lists/list-notices.ts';
import type { ListKind } from './lists/lists.ts';
import type { Subscriptions } from './notifications/subscriptions.ts';
import { UnsolicitedMessages } from './notifications/unsolicited-messages.ts';
import { UpstreamSubscriptions } from './notifications/upstream-subscriptions.ts';
import type { Introduction } from './pool/connection.ts';
import { ConnectionObserver } from './pool/connection-observer.ts';
import type { ConnectionSetupOptions } from './pool/connection-setup.ts';
import { ConnectionUsage } from './pool/connection-usage.ts';
import { Pool, type PoolOptions } from './pool/pool.ts';
import { TaskRecords } from './tasks/task-records.ts';

export interface ServerTrafficOptions extends Partial<Pick<ConnectionSetupOptions, 'onErrorAnswer'>> {
  readonly id: string;
  readonly entry: ServerEntry;
  readonly cache: ServerCache;
  readonly log: Log;
  readonly clientInfo: { readonly name: string; readonly version: string };
  /** Subscriptions of the replaced server (same id), or an empty set. */
  readonly subscriptions: Subscriptions;
  /** Task records of the replaced server at the same URL, where tasks may still be running. */
  readonly tasks?: TaskRecords | undefined;
  /** Set for local servers. */
  readonly install?: ServerInstall | undefined;
  makeLink(events: LinkEvents, era: Era): Link;
  /** Receives each `notifications/message` of the server. */
  onLogMessage?(envelope: Envelope): void;
  /** Notifies the clients at /mcp/:id that lists may have changed. */
  announce(kinds: readonly ListKind[]): void;
  /** Asks the supervisor to start the server now, even in a backoff or while parked after failures. */
  wake(): void;
}

type PoolEvents = Pick<
  PoolOptions,
  | 'isNeeded'
  | 'onHandshake'
  | 'onOpen'
  | 'onOpenFailed'
  | 'onErrorAnswer'
  | 'onLost'
  | 'onUndelivered'
  | 'onHeaderMismatch'
  | 'onRequest'
  | 'onNotification'
  | 'onNoise'
  | 'onMemberEnded'
>;

export class ServerTraffic {
  readonly pool: Pool;
  readonly handle: Handle;
  readonly demand: ServerDemand;
  readonly eras: ServerEras;
  readonly tasks: TaskRecords;
  readonly usage: ConnectionUsage;
  readonly upstreamSubscriptions: UpstreamSubscriptions;
  readonly listNotices: ListNotices;
  readonly observer: ConnectionObserver;
  readonly #unsolicited: UnsolicitedMessages;

  constructor(options: ServerTrafficOptions, life: ServerLife, status: ServerStatus) {
    const { id, entry, cache, log, install, makeLink, subscriptions } = options;
    const isShared = entry.isolation === 'shared';
    const isLocal = entry.runtime === 'stdio';
    const wake = () => options.wake();
    const introduction: Introduction = {
      protocolVersion: latestSessionVersion,
      clientInfo: options.clientInfo,
      // A private connection declares the capabilities of its client instead (connection-setup.ts).
      capabilities: {},
    };
    /** Options for a connection to the server, in the pool or to probe its era. */
    const connecting = {
      server: id,
      startTimeoutMs: entry.start_timeout_seconds * 1000,
      introduction,
      makeLink,
    };
    this.tasks = options.tasks ?? new TaskRecords(isLocal ? 'process' : 'server');
    this.pool = new Pool({
      ...connecting,
      isolation: entry.isolation,
      max: entry.pool.max,
      forwardsRoots: entry.forward_roots,
      isRemote: !isLocal,
      command: isLocal ? entry.command : undefined,
      proxyHost: isLocal ? undefined : proxyFor(new URL(entry.url))?.host,
      installFolder: install?.folder,
      ...this.#poolEvents(options, life),
    });
    this.handle = new Handle(id, entry, this.pool, {
      onDemand: () => life.send({ type: 'demand' }),
      onUsed: () => life.send({ type: 'used' }),
      onWake: wake,
    });
    const { pool, handle, tasks } = this;
    const demand = new ServerDemand({ entry, handle, life, wake });
    this.demand = demand;
    this.eras = new ServerEras({
      ...connecting,
      setting: entry.era,
      cache,
      untilStartable: async () => {
        await demand.untilStartable();
        const whenInstalled = install?.ensure();
        if (whenInstalled === undefined) return;
        // A failed installation only ends the probes here. The state machine of the server, which
        // `demand.start` notifies, handles the failure.
        demand.start();
        await whenInstalled.catch(() => this.eras.kill());
      },
      onProbed: (found) => log.info({ server: id, ...found }, 'probed the protocol eras of the server'),
    });
    const { eras } = this;
    const invalidTools = new InvalidTools({ id, entry, eras, cache }, log);
    cache.watch((kinds) => {
      if (kinds.includes('tools')) invalidTools.check();
    });
    const usage = new ConnectionUsage({ server: id, isShared, eras, tasks, subscriptions, pool, handle });
    this.usage = usage;
    this.upstreamSubscriptions = new UpstreamSubscriptions({ isShared, cache, pool, usage, subscriptions });
    const { upstreamSubscriptions } = this;
    const timeoutMs = entry.request_timeout_seconds * 1000;
    const announce = (kinds: readonly ListKind[]) => options.announce(kinds);
    this.listNotices = new ListNotices({ cache, timeoutMs, isShared, announce });
    this.#unsolicited = new UnsolicitedMessages({
      ...{ upstreamSubscriptions, listNotices: this.listNotices, usage, tasks },
      forwardsRoots: entry.forward_roots,
    });
    const parts = { cache, eras, handle, pool, usage, upstreamSubscriptions };
    this.observer = new ConnectionObserver({ id, entry, log, ...parts, life, status });
  }

  #poolEvents({ id, log, onErrorAnswer, ...options }: ServerTrafficOptions, life: ServerLife): PoolEvents {
    return {
      isNeeded: (member) => this.usage.hasSubscribers(member) || this.tasks.isActiveOn(member),
      onHandshake: (member, remainingMs) => this.observer.onHandshake(member, remainingMs),
      onOpen: () => this.observer.onOpen(),
      onOpenFailed: (member, error) => this.observer.onOpenFailed(member, error),
      onErrorAnswer,
      onLost: (error) => life.report({ type: 'pool.lost', error }),
      onUndelivered: (call) => this.handle.retry(call),
      onHeaderMismatch: (member, call) => this.observer.onHeaderMismatch(member, call),
      onRequest: (member, envelope, call) => this.#unsolicited.request(member, envelope, call),
      onNotification: (member, envelope, call) => {
        if (envelope.method === 'notifications/message') options.onLogMessage?.(envelope);
        this.#unsolicited.notification(member, envelope, call);
      },
      onNoise: (message) => log.debug({ server: id }, `invalid message from the server: ${message}`),
      onMemberEnded: (member, error) => this.observer.onMemberEnded(member, error),
    };
  }
}
