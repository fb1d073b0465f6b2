// The clients of the gateway: sessions, profiles, and the router that carries requests of every front end
// (HTTP, stdio, in-process) to the servers.

import { randomUUID } from 'node:crypto';
import type { GatewayConfig } from '../../config/gateway-file/gateway-schema.ts';
import type { Audit } from '../audit/audit-part.ts';
import type { Log } from '../base/errors/log.ts';
import type { Redactor } from '../base/errors/redact.ts';
import type { Part } from '../base/supervision/part.ts';
import type { RecentCalls } from '../history/recent-calls.ts';
import { Aggregate } from './clients/aggregate/aggregate.ts';
import { Discovery } from './clients/aggregate/discovery.ts';
import { EraBridge } from './clients/eras/bridge.ts';
import type { RequestStates } from './clients/eras/request-states.ts';
import { InProcessClient } from './clients/in-process-client.ts';
import { MessageRouter } from './clients/message-router.ts';
import type { MergedView, Profile } from './clients/profiles/profile.ts';
import { Profiles } from './clients/profiles/profiles.ts';
import { Forwarder } from './clients/routing/forwarder.ts';
import { InFlightLimiter } from './clients/routing/in-flight-limiter.ts';
import { ToolSearch } from './clients/search/tool-search.ts';
import { SessionRestorer } from './clients/sessions/session-restorer.ts';
import { Sessions } from './clients/sessions/sessions.ts';
import { type SessionStorage, StoredSessions } from './clients/sessions/stored-sessions.ts';
import type { ServerRegistry } from './servers/server-registry.ts';

/** Cluster features: session ids and request states from which any node finds the node that created them. */
export interface ClientPeers {
  readonly sealed: { newSessionId(): string };
  readonly states: RequestStates;
}

export interface ClientSideOptions {
  readonly config: GatewayConfig;
  readonly log: Log;
  readonly redactor: Redactor;
  readonly version: string;
  readonly servers: ServerRegistry;
  /** Undefined if `node.address` is not configured, so the gateway is in no cluster. */
  readonly peers: ClientPeers | undefined;
  /** Undefined if the history is disabled. */
  readonly recentCalls: RecentCalls | undefined;
  /** Undefined without an audit. */
  readonly audit: Audit | undefined;
  /** Storage for the records of sessions; undefined if this gateway stores nothing. */
  readonly sessionStorage: SessionStorage | undefined;
}

export class ClientSide implements Part {
  readonly sessions: Sessions;
  /** Restores stored sessions, after a restart or of another node. */
  readonly restorer: SessionRestorer;
  /** Parts of the servers and their tools, each at its own address. */
  readonly profiles: Profiles;
  /** Merged view across all servers. */
  readonly view: MergedView;
  /** Converts calls between clients and servers of different protocol eras (sessions, stateless requests). */
  readonly eraBridge = new EraBridge();
  readonly inFlight: InFlightLimiter;
  readonly router: MessageRouter;
  /** Calls tools from within this process. */
  readonly inProcess: InProcessClient;

  constructor(options: ClientSideOptions) {
    const { config, log, redactor, version, servers, peers, recentCalls, audit, sessionStorage } = options;
    const aggregate = new Aggregate(servers);
    const tagsOf = config.expose === 'search' ? (id: string) => servers.tagsOf(id) : undefined;
    const search = tagsOf && new ToolSearch({ aggregate, tagsOf });
    // A failed fetch of lists is retried only while clients use lists.
    const areListsUsed = (profile?: Profile) => this.sessions.areListsUsed(profile);
    this.view = { aggregate, discovery: new Discovery(aggregate, areListsUsed), search };
    const profiles = new Profiles({ servers, tagsOf, areListsUsed });
    this.profiles = profiles;
    const onWarning = (message: string) => log.warn({}, message);
    const records = sessionStorage && new StoredSessions(sessionStorage, config.limits.sessions, onWarning);
    this.sessions = new Sessions({
      maxSessions: config.limits.sessions,
      idleMs: config.limits.session_idle_seconds * 1000,
      log,
      onEnd: (session) => servers.release(session),
      profiles: () => profiles.all(),
      newId: () => peers?.sealed.newSessionId() ?? randomUUID(),
      areStored: records !== undefined,
      onForgotten: (session) => void this.restorer.forget(session).catch(() => {}),
    });
    this.restorer = new SessionRestorer({
      ...{ sessions: this.sessions, records, log },
      serversOf: ({ target, profile }) => {
        if (target === undefined) return profile?.servers() ?? servers.all();
        const server = servers.get(target);
        return server === undefined ? [] : [server];
      },
    });
    const { sessions, restorer, eraBridge } = this;
    this.inFlight = new InFlightLimiter(config.limits.in_flight, config.limits.body_bytes);
    const forwarder = new Forwarder(this.inFlight, eraBridge);
    const serverInfo = { name: 'actor-gateway', title: 'actor-gateway', version };
    const server = (id: string) => servers.require(id);
    this.router = new MessageRouter({
      ...this.view,
      ...{ servers, sessions, restorer, eraBridge, forwarder, config, log, redactor, serverInfo, server },
      ...{ recentCalls, audit },
      states: peers?.states,
      release: (client) => servers.release(client),
    });
    this.inProcess = new InProcessClient({ router: this.router, serverInfo, server });
  }

  /** Cancels waits for lists; waiting clients receive the known lists. */
  onStopping(): void {
    this.view.discovery.close();
    this.profiles.close();
  }

  /** Closes all sessions and cancels all suspended calls. */
  async drain(): Promise<void> {
    this.eraBridge.suspendedCalls.close();
    this.restorer.close();
    this.sessions.close();
  }
}
