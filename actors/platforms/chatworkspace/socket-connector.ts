// The connection of an app whose events come over sockets (`socket/`). First its bots are asked who they are (users.ts), then
// the platform is asked under the app's token for an address, anew for each socket, since each can be used once. What comes is
// acknowledged when the inbox has made it durable.

import type { ChatWorkspaceTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { Principal } from '../../identity/principal.ts';
import type { SourceHost } from '../adapter.ts';
import { ConnectionError, type Connector, type Users } from '../connections/connector.ts';
import { textMember } from '../payloads/payload-member.ts';
import { WorkspaceApi } from './api.ts';
import { connectionErrorOf } from './errors.ts';
import type { WorkspaceInbox } from './inbox.ts';
import { isPayloadKind } from './payload.ts';
import type { SignedConnectorOptions } from './signed-connector.ts';
import type { Envelope } from './socket/frame.ts';
import { socketTimes } from './socket/platform-socket.ts';
import { SocketMode } from './socket/socket-mode.ts';
import { webSocketWires } from './socket/web-socket.ts';
import { identifyBots, identifyFirst } from './users.ts';

export interface SocketConnectorOptions extends SignedConnectorOptions {
  readonly host: SourceHost;
  /** For the log. */
  readonly app: string;
  readonly inbox: WorkspaceInbox;
  /** @default socketTimes */
  readonly times?: typeof socketTimes;
}

/** A message of the largest size, with files and in rich text, is some hundred KB. */
const MAX_FRAME_BYTES = 4_194_304;
/** Of one that comes again, only to be acknowledged. */
const MAX_AGAIN_BYTES = 33_554_432;
/** For the bots to say who they are, and for a socket. */
const CONNECT_MS = 45_000;
/** Who brings what comes on a socket that was opened under the token. */
const platform: Principal = { kind: 'key', name: 'app_token' };

export function socketConnector(options: SocketConnectorOptions): Connector<ChatWorkspaceTrigger> {
  const { trigger, host, app, botOf, times = socketTimes } = options;
  const { app_token: token = '', api_root } = trigger.config;
  const limit = { maxBytes: MAX_FRAME_BYTES, maxAgainBytes: MAX_AGAIN_BYTES, wasExceeded: false };
  return {
    // Tokens of bots are no part of it: triggers of one app may have bots in several workspaces.
    identity: JSON.stringify(['socket', api_root, token]),
    connectMs: CONNECT_MS,
    async connect(signal, users) {
      await identifyFirst(users(), botOf, signal);
      const api = new WorkspaceApi({ token, api_root });
      const wires = await webSocketWires(limit);
      signal.throwIfAborted();
      const take = (envelope: Envelope) => taken(options, users, envelope);
      const address = (ending: AbortSignal) => newAddress(api, ending, times.addressMs);
      const mode = new SocketMode({ app, log: host.log, wires, times, address, take }, signal);
      await mode.greeted;
      return {
        closed: mode.closed,
        close: (graceMs) => mode.close(graceMs),
        onUsers: (triggers, ending) => identifyBots(triggers, botOf, ending),
      };
    },
  };
}

/** It is a credential, and can be used once. */
async function newAddress(api: WorkspaceApi, signal: AbortSignal, timeoutMs: number): Promise<string> {
  try {
    const url = textMember(await api.call('apps.connections.open', {}, { signal, timeoutMs }), 'url');
    if (url !== undefined) return url;
  } catch (error) {
    throw connectionErrorOf(error);
  }
  throw new ConnectionError(`${api.host} gave no address of a socket`, { kind: 'transient' });
}

async function taken(
  { inbox }: SocketConnectorOptions,
  users: Users<ChatWorkspaceTrigger>,
  { type: kind, payload }: Envelope,
): Promise<void> {
  if (!isPayloadKind(kind)) return;
  const triggers = users();
  // The last of them has gone: whoever comes next is sent it again.
  if (triggers.length === 0) throw new Error('no trigger uses the app any more');
  await inbox.take({ kind, payload, triggers, principal: platform });
}
