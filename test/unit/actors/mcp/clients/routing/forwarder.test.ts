// Forwarding of requests to servers, directly or over the bridge between the protocol eras: legacy (sessions)
// and modern (stateless, 2026-07-28). eras/bridge.test.ts tests the bridge itself.

import { expect, test } from 'vitest';
import type { EraBridge } from '../../../../../../actors/mcp/clients/eras/bridge.ts';
import { ClientExchange } from '../../../../../../actors/mcp/clients/exchange.ts';
import type { RoutedRequest } from '../../../../../../actors/mcp/clients/routed-request.ts';
import { Forwarder } from '../../../../../../actors/mcp/clients/routing/forwarder.ts';
import type { InFlightLimiter } from '../../../../../../actors/mcp/clients/routing/in-flight-limiter.ts';
import { readClientMessage } from '../../../../../../actors/mcp/jsonrpc/read-message.ts';

const limiter = { take: () => true } as unknown as InFlightLimiter;
const outlet = { send: () => {}, finish: () => {}, drop: () => {} };
const eras = ['legacy', 'modern'] as const;

test.each(eras.flatMap((client) => eras.map((server) => [client, server] as const)))(
  'the forwarder sends a request of a %s client to a %s server over the bridge only if the eras differ',
  (client, spoken) => {
    const routes: string[] = [];
    const bridge = { cross: () => routes.push('bridge') } as unknown as EraBridge;
    const server = {
      id: 'files',
      entry: { forward_roots: true },
      eras: { serverEraFor: () => spoken },
      cache: { taskTools: new Set() },
      handle: { accept: ({ era }: { era: string }) => void routes.push(`handle, ${era}`) },
    };
    const route = {
      server,
      session: undefined,
      caller: client === 'modern' ? { capabilities: {} } : undefined,
      envelope: readClientMessage(Buffer.from('{"jsonrpc":"2.0","id":1,"method":"tools/list"}')),
      exchange: new ClientExchange('1', outlet, { redact: (text) => text, onEnd: () => {} }),
    } as unknown as RoutedRequest;
    new Forwarder(limiter, bridge).forward(route);
    expect(routes).toEqual([client === spoken ? `handle, ${client}` : 'bridge']);
  },
);
