// Connector for apps with sockets (`socket/`). It identifies the bots (identify-bots.ts), and requests a
// socket address with the app token; each address can be used once. The platform sends events in envelopes,
// which are acknowledged once the events are durable.

import type { ChatWorkspaceTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { Principal } from '../../identity/principal.ts';
import type { TriggerHost } from '../adapter.ts';
import { ConnectionError, type Connector, type Users } from '../connections/connector.ts';
import { textMember } from '../payloads/payload-member.ts';
import { WorkspaceApi } from './api.ts';
import { connectionErrorOf } from './errors.ts';
import { identifyBots, identifyFirst } from './identify-bots.ts';
import type { WorkspaceInbox } from './inbox.ts';
import { isPayloadKind } from './payload.ts';
import type { SocketEnvelope } from './socket/frame.ts';
import { socketTimes } from './socket/platform-socket.ts';
import { SocketMode } from './socket/socket-mode.ts';
import { webSocketWires } from './socket/ws-wires.ts';
import type { WebhookConnectorOptions } from './webhook-connector.ts';

export interface SocketConnectorOptions extends WebhookConnectorOptions {
  readonly host: TriggerHost;
  /** App name, for the log. */
  readonly app: string;
  readonly inbox: WorkspaceInbox;
  /** @default socketTimes */
  readonly times?: typeof socketTimes;
}

/**
 * Maximum frame size, in bytes. The largest messages, with files and rich text, have some hundred KB.
 */
const MAX_FRAME_BYTES = 4_194_304;
/** Maximum size for redelivered frames, in bytes. They are only acknowledged, not parsed. */
const MAX_REDELIVERED_BYTES = 33_554_432;
/** Time to identify the bots and to open a socket, in milliseconds. */
const CONNECT_MS = 45_000;
/** Principal of envelopes: the app token opened their socket. */
const platform: Principal = { kind: 'key', name: 'app_token' };

export function socketConnector(options: SocketConnectorOptions): Connector<ChatWorkspaceTrigger> {
  const { trigger, host, app, botOf, times = socketTimes } = options;
  const { app_token: token = '', api_root } = trigger.config;
  const limit = { maxBytes: MAX_FRAME_BYTES, maxRedeliveredBytes: MAX_REDELIVERED_BYTES, wasExceeded: false };
  return {
    // Bot tokens are excluded, because an app can have bots in several workspaces.
    identity: JSON.stringify(['socket', api_root, token]),
    connectMs: CONNECT_MS,
    async connect(signal, users) {
      await identifyFirst(users(), botOf, signal);
      const api = new WorkspaceApi({ token, api_root });
      const wires = await webSocketWires(limit);
      signal.throwIfAborted();
      const accept = (envelope: SocketEnvelope) => acceptEnvelope(options, users, envelope);
      const address = (ending: AbortSignal) => requestAddress(api, ending, times.addressMs);
      const mode = new SocketMode({ app, log: host.log, wires, times, address, accept }, signal);
      await mode.greeted;
      return {
        closed: mode.closed,
        close: (graceMs) => mode.close(graceMs),
        onUsers: (triggers, ending) => identifyBots(triggers, botOf, ending),
      };
    },
  };
}

/** Returns a socket address. It is a credential, and can be used once. */
async function requestAddress(api: WorkspaceApi, signal: AbortSignal, timeoutMs: number): Promise<string> {
  try {
    const url = textMember(await api.call('apps.connections.open', {}, { signal, timeoutMs }), 'url');
    if (url !== undefined) return url;
  } catch (error) {
    throw connectionErrorOf(error);
  }
  throw new ConnectionError(`${api.host} returned no socket address`, { kind: 'transient' });
}

async function acceptEnvelope(
  { inbox }: SocketConnectorOptions,
  users: Users<ChatWorkspaceTrigger>,
  { type: kind, payload }: SocketEnvelope,
): Promise<void> {
  if (!isPayloadKind(kind)) return;
  const triggers = users();
  // The last trigger has left; the platform redelivers the envelope to another client.
  if (triggers.length === 0) throw new Error('no trigger uses the app');
  await inbox.accept({ kind, payload, triggers, principal: platform });
}
