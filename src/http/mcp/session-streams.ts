// Handles GET of a session: opens the notification stream, or resumes a stream after a disconnect. A restored
// session has lost the events of earlier streams: the client receives a new notification stream, or an error
// for the request of the stream.

import { ConnectionLostError } from '../../../actors/base/errors/errors.ts';
import type { Endpoint } from '../../../actors/mcp/clients/profiles/profile.ts';
import type { EventId } from '../../../actors/mcp/clients/sessions/event-id.ts';
import type { ClientSession } from '../../../actors/mcp/clients/sessions/session.ts';
import { errorMessage, notificationMessage } from '../../../actors/mcp/jsonrpc/compose.ts';
import { listKinds } from '../../../actors/mcp/servers/lists/lists.ts';
import type { RouteContext } from '../route-context.ts';
import { EventStream, liveStreams } from './event-stream.ts';
import type { ExchangeContext } from './exchange-context.ts';

export interface StreamRequest {
  readonly routes: RouteContext;
  readonly context: ExchangeContext;
  readonly session: ClientSession;
  readonly endpoint: Endpoint;
}

/** Opens the notification stream, or resumes the stream of the event `last`. */
export function connectStream(request: StreamRequest, last: EventId | undefined): void {
  const { routes, context, session } = request;
  if (routes.life.isEnding) {
    context.refuseWhileDraining();
    return;
  }
  session.lastSeenAt = performance.now();
  if (last === undefined) openNotificationStream(request);
  else if (session.isEarlierStream(last.stream)) replaceLostStream(request, last);
  else resumeStream(request, last);
}

/** Opens the notification stream, which replaces the previous one. */
function openNotificationStream(request: StreamRequest): void {
  const { routes, session } = request;
  const stream = new EventStream(session);
  const mayHaveMissedChanges = session.generation > 0 && session.stream === undefined;
  session.stream?.end();
  session.stream = stream;
  routes.mcp.clients.sessions.notifyMissed(session);
  attach(request, stream);
  if (mayHaveMissedChanges) notifyOfLists(request);
}

/** Notifies the client of all lists, because they can have changed before the session was restored. */
function notifyOfLists({ session, endpoint: { server } }: StreamRequest): void {
  const capabilities = server?.cache.description?.capabilities;
  for (const kind of ['tools', 'prompts', 'resources'] as const) {
    const declared = capabilities?.[kind] as { listChanged?: unknown } | undefined;
    if (server === undefined || declared?.listChanged === true)
      session.notify(notificationMessage(listKinds[kind].changed));
  }
}

function resumeStream(request: StreamRequest, last: EventId): void {
  const { context, session } = request;
  const liveStream = liveStreams(session).get(last.stream);
  if (liveStream !== undefined) {
    attach(request, liveStream, last.number);
    liveStream.replayAfter(last.number);
    return;
  }
  // The stream has ended: the client receives the events that it has missed.
  const stream = new EventStream(session, last.rawRequestId, last.stream);
  stream.connect(context, last.number);
  stream.replayAfter(last.number);
  stream.end();
}

/** Replaces a stream of an earlier process: with a new notification stream, or an error for the request. */
function replaceLostStream(request: StreamRequest, { rawRequestId }: EventId): void {
  const { context, session } = request;
  if (rawRequestId === undefined) {
    openNotificationStream(request);
    return;
  }
  const error = new ConnectionLostError(
    'the gateway was restarted before it answered the request; the server may have handled it',
  );
  const stream = new EventStream(session, rawRequestId);
  stream.connect(context);
  if (rawRequestId !== '') stream.send(errorMessage(rawRequestId, error.rpcCode, error.message, error.data));
  stream.end();
}

function attach({ routes, context, session }: StreamRequest, stream: EventStream, after?: number): void {
  stream.disconnect();
  routes.heartbeat.streams.add(stream);
  stream.whenEnded = () => routes.heartbeat.streams.delete(stream);
  // The stream continues if its client reconnects.
  stream.connect(context, after, () => session.noteEndOfUse());
}
