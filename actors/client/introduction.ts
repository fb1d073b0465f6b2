// How a session begins: what a client says of itself with `initialize`, and what it is told. At /mcp the gateway introduces
// itself; at /mcp/:id the server does, and one that has never been heard of is started to be asked.
//
// IN1  what a client says of itself is bounded: it is kept as long as its session, and ten thousand sessions must stay
//      affordable (A8).
// IN2  once a server is known, nobody waits for it, and nobody's session fails because it cannot be started.

import type { GatewayError } from '../errors.ts';
import type { Gateway } from '../gateway/gateway.ts';
import type { Envelope } from '../jsonrpc/envelope.ts';
import { RpcFault, rpcCodes } from '../jsonrpc/rpc-fault.ts';
import { type Advert, isSessionVersion, latestSessionVersion } from '../server/advert.ts';
import { acquaint } from './acquaint.ts';
import type { Route } from './route.ts';
import { withEras } from './server-router.ts';
import type { ClientSession } from './session.ts';

const MAX_INTRODUCTION = 65_536;

export interface ClientIntroduction {
  /** The version asked for, or the latest when that is none. */
  readonly protocolVersion: string;
  readonly clientInfo: unknown;
  readonly capabilities: Readonly<Record<string, unknown>>;
}

/** What the client says of itself. Throws RpcFault −32602 for a malformed request. */
export function readIntroduction(envelope: Envelope): ClientIntroduction {
  const { params } = envelope;
  if (params !== undefined && params.end - params.start > MAX_INTRODUCTION) {
    const message = `params of initialize are larger than ${MAX_INTRODUCTION} bytes`;
    throw new RpcFault(rpcCodes.invalidParams, message, envelope.rawId);
  }
  const { protocolVersion, clientInfo, capabilities } = (envelope.parse(envelope.params) ?? {}) as Record<
    string,
    unknown
  >;
  if (typeof protocolVersion !== 'string') {
    throw new RpcFault(rpcCodes.invalidParams, 'params.protocolVersion must be a string', envelope.rawId);
  }
  return {
    protocolVersion: isSessionVersion(protocolVersion) ? protocolVersion : latestSessionVersion,
    clientInfo: clientInfo ?? { name: 'unknown', version: '0' },
    capabilities: isRecord(capabilities) ? capabilities : {},
  };
}

/** The gateway's own, for all servers together. */
export function gatewayIntroduction(
  { aggregate, serverInfo }: Gateway,
  { protocolVersion }: ClientSession,
): Record<string, unknown> {
  const instructions = aggregate.instructions();
  return {
    protocolVersion,
    capabilities: aggregate.capabilities(),
    serverInfo,
    ...(instructions === undefined ? {} : { instructions }),
  };
}

export type IntroducingRoute = Route & { readonly session: ClientSession };

/** Has the server introduce itself; `onRefused` is called when it could not be started, after the client has been told. */
export function introduceServer(route: IntroducingRoute, onRefused: () => void): void {
  const { server, exchange } = route;
  const advert = knownAdvert(route);
  if (advert !== undefined) {
    answer(route, advert);
    return;
  }
  exchange.server = server.id;
  withEras(route, () => awaitSign(route, onRefused));
}

function awaitSign(route: IntroducingRoute, onRefused: () => void): void {
  const { server, session, exchange } = route;
  // To be asked for its eras it had to introduce itself.
  const advert = knownAdvert(route);
  if (advert !== undefined) {
    answer(route, advert);
    return;
  }
  const asker = { clientInfo: session.clientInfo, capabilities: {} };
  const done = (learnt: Advert) => answer(route, server.known.advert ?? learnt);
  const fail = (error: GatewayError) => {
    // Another session's start has made it known meanwhile; this one needs a place only for its first call.
    const learnt = knownAdvert(route);
    if (learnt !== undefined) {
      answer(route, learnt);
      return;
    }
    exchange.fail(error);
    onRefused();
  };
  exchange.call = acquaint(server, asker, { done, fail, drop: () => exchange.drop() }, session);
}

/** One that is switched off has nothing to say, whatever is known of it. */
function knownAdvert({ server }: Route): Advert | undefined {
  return server.entry.enabled ? server.known.advert : undefined;
}

function answer({ session, exchange }: IntroducingRoute, advert: Advert): void {
  const { capabilities, serverInfo, instructions } = advert;
  exchange.result({
    protocolVersion: session.protocolVersion,
    capabilities,
    serverInfo,
    ...(instructions === undefined ? {} : { instructions }),
  });
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
