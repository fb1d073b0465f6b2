// Creates the link (message transport) for a catalog entry: stdio, SSE or Streamable HTTP, on this node or,
// in a cluster, on another node. `era` is the protocol era of the messages: `legacy` (sessions, up to
// 2025-11-25) or `modern` (stateless requests, 2026-07-28).

import type { ServerEntry } from '../../../config/catalog/catalog-schema.ts';
import type { Log } from '../../base/errors/log.ts';
import type { Redactor } from '../../base/errors/redact.ts';
import type { ChildRecords } from '../../state/child-records.ts';
import type { Era } from '../jsonrpc/modern-meta.ts';
import { readServerMessage } from '../jsonrpc/read-message.ts';
import type { CallId, Link, LinkEvents } from './link.ts';
import { type DetectedTransport, DetectingLink } from './sse/detecting-link.ts';
import { SseLink } from './sse/sse-link.ts';
import { type GatewayEnvironment, launchOf } from './stdio/child-env.ts';
import type { UnfinishedFiles } from './stdio/child-process.ts';
import { containerLaunch } from './stdio/container-launch.ts';
import { StdioLink } from './stdio/stdio-link.ts';
import { ModernHttpLink } from './streamable-http/modern-http-link.ts';
import type { SchemaLookup } from './streamable-http/request-metadata.ts';

export interface LinkContext {
  readonly server: string;
  readonly maxMessageBytes: number;
  /** Redacts all configured credentials, in lines for operators. */
  readonly redactor: Redactor;
  /** Redacts the credentials of this server, in errors for clients. */
  readonly ownRedactor: Redactor;
  /** Environment of the gateway. Child processes inherit only a few variables. */
  readonly environment: GatewayEnvironment;
  /** Records of the child processes. After a crash, the restarted gateway ends these processes. */
  readonly records: ChildRecords | undefined;
  /**
   * Files that a local server's launcher (npx, uvx, docker) may be writing. They are moved aside if the
   * launcher is killed, because they may be damaged.
   */
  readonly unfinished: UnfinishedFiles | undefined;
  /** Returns a mark for a new process: an environment variable value that identifies its descendants. */
  readonly newMark: (server: string) => string | undefined;
  /** Called after a process start, with a promise that resolves after the process's cleanup. */
  readonly onProcess: (whenGone: Promise<void>) => void;
  /** A remote server's transport, as detected by earlier links. */
  readonly transport: DetectedTransport;
  /** Looks up a tool's input schema. Since revision 2026-07-28 some arguments are sent as headers. */
  readonly inputSchemaOf: SchemaLookup;
  readonly log: Log;
  /**
   * Creates links for servers with `placement: cluster` (one process per cluster). Undefined if the gateway
   * belongs to no cluster.
   */
  readonly makePlaced: MakePlacedLink | undefined;
  /** Stores a stderr line of the process for later queries. */
  readonly storeLine: (line: string) => void;
}

/**
 * Creates the link to a server that runs once in the cluster. `makeOwn` creates the link if it runs on this
 * node.
 */
export type MakePlacedLink = (
  entry: ServerEntry,
  era: Era,
  events: LinkEvents,
  context: LinkContext,
  makeOwn: (events: LinkEvents) => Link,
) => Link;

export function makeLink(entry: ServerEntry, era: Era, events: LinkEvents, context: LinkContext): Link {
  const makeOwn = (linkEvents: LinkEvents) => makeOwnLink(entry, era, linkEvents, context);
  const { makePlaced } = context;
  return entry.placement === 'node' || makePlaced === undefined
    ? makeOwn(events)
    : makePlaced(entry, era, events, context, makeOwn);
}

function makeOwnLink(entry: ServerEntry, era: Era, events: LinkEvents, context: LinkContext): Link {
  const { server, maxMessageBytes, redactor, ownRedactor, environment } = context;
  const { records, newMark, onProcess, log, storeLine, inputSchemaOf, transport } = context;
  if (entry.runtime === 'stdio') {
    const launch = launchOf(entry, environment);
    const run = containerLaunch(launch, server);
    return new StdioLink(
      {
        ...launch,
        ...run,
        mark: newMark(server),
        unfinished: context.unfinished,
        maxMessageBytes,
        redactor,
        onStderr: (line) => {
          storeLine(line);
          log.info({ server, stream: 'stderr' }, line);
        },
        onNoise: (line) => log.warn({ server, stream: 'stdout' }, `not an MCP message: ${line}`),
        onSpawn: (pid) => records?.add(pid, server, run?.container),
        onContainerLeft: ({ message: reason }) =>
          log.warn({ server, reason }, 'could not end the container of a server; the next start tries again'),
        onReaped: (pid) => records?.remove(pid),
        onProcess,
      },
      events,
    );
  }
  const options = {
    url: new URL(entry.url),
    headers: entry.headers,
    maxMessageBytes,
    redactor: ownRedactor,
    isAnswerTo,
    events,
  };
  if (era === 'modern') return new ModernHttpLink({ ...options, inputSchemaOf });
  return entry.runtime === 'sse' ? new SseLink(options) : new DetectingLink(options, transport);
}

/** Returns true if the message is the response to the gateway's request with that id. */
export function isAnswerTo(bytes: Buffer, call: CallId): boolean {
  try {
    const envelope = readServerMessage(bytes);
    return envelope.kind === 'answer' && envelope.numericId === call;
  } catch {
    return false;
  }
}
