// Chooses the link for a catalog entry by its runtime, and gives it what it needs of the gateway.

import type { ServerEntry } from '../../../config/catalog/catalog-schema.ts';
import type { Log } from '../../base/errors/log.ts';
import type { Redactor } from '../../base/errors/redact.ts';
import type { ChildRecords } from '../../state/child-records.ts';
import type { Era } from '../jsonrpc/modern-meta.ts';
import { readServerMessage } from '../jsonrpc/read-message.ts';
import type { CallId, Link, LinkEvents } from './link.ts';
import { SseLink } from './sse/sse-link.ts';
import { childEnvironment } from './stdio/child-env.ts';
import { StdioLink } from './stdio/stdio-link.ts';
import { HttpLink } from './streamable-http/http-link.ts';
import { ModernHttpLink } from './streamable-http/modern-http-link.ts';
import type { SchemaLookup } from './streamable-http/request-metadata.ts';

export interface LinkContext {
  readonly server: string;
  readonly maxMessageBytes: number;
  /** Redacts every configured credential in lines for operators. */
  readonly redactor: Redactor;
  /** Redacts errors for clients with the credentials of this server. */
  readonly ownRedactor: Redactor;
  /** The gateway's own environment, of which a child gets little. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly records: ChildRecords | undefined;
  /** A new mark for a process that is about to be started. */
  readonly newMark: (server: string) => string | undefined;
  /** What is known of a tool's arguments: some of them become headers in the modern era. */
  readonly inputSchemaOf: SchemaLookup;
  readonly log: Log;
  /** For a server of `placement: cluster`; undefined where there is no cluster. */
  readonly makePlaced: MakePlacedLink | undefined;
  /** Keeps a line that the process of this link wrote on stderr, for whoever asks. */
  readonly keepLine: (line: string) => void;
}

/** Makes the link to a server that runs once in the whole cluster; `makeOwn` makes that of this node's own. */
export type MakePlacedLink = (
  entry: ServerEntry,
  era: Era,
  events: LinkEvents,
  context: LinkContext,
  makeOwn: (events: LinkEvents) => Link,
) => Link;

export function makeLink(entry: ServerEntry, era: Era, events: LinkEvents, context: LinkContext): Link {
  const makeOwn = (own: LinkEvents) => makeOwnLink(entry, era, own, context);
  const { makePlaced } = context;
  return entry.placement === 'node' || makePlaced === undefined
    ? makeOwn(events)
    : makePlaced(entry, era, events, context, makeOwn);
}

function makeOwnLink(entry: ServerEntry, era: Era, events: LinkEvents, context: LinkContext): Link {
  const { server, maxMessageBytes, redactor, ownRedactor, environment } = context;
  const { records, newMark, log, keepLine, inputSchemaOf } = context;
  if (entry.runtime === 'stdio') {
    return new StdioLink(
      {
        command: entry.command,
        args: entry.args,
        cwd: entry.cwd,
        env: childEnvironment(entry, environment),
        mark: newMark(server),
        maxMessageBytes,
        redactor,
        onStderr: (line) => {
          keepLine(line);
          log.info({ server, stream: 'stderr' }, line);
        },
        onNoise: (line) => log.warn({ server, stream: 'stdout' }, `no message: ${line}`),
        onSpawn: (pid) => records?.add(pid, server),
        onReaped: (pid) => records?.remove(pid),
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
  return entry.runtime === 'sse' ? new SseLink(options) : new HttpLink(options);
}

/** Whether a message is the answer to our request of that id. */
export function isAnswerTo(bytes: Buffer, call: CallId): boolean {
  try {
    const envelope = readServerMessage(bytes);
    return envelope.kind === 'answer' && Number(envelope.rawId) === call;
  } catch {
    return false;
  }
}
