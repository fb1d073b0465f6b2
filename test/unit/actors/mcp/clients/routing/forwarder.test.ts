// What goes to a server as it is, and what goes over the bridge between the eras. What the bridge makes of it stands in
// era-bridge.test.ts.

import { expect, test } from 'vitest';
import { ClientExchange } from '../../../../../../actors/mcp/clients/client-exchange.ts';
import type { EraBridge } from '../../../../../../actors/mcp/clients/eras/era-bridge.ts';
import type { RoutedRequest } from '../../../../../../actors/mcp/clients/routed-request.ts';
import { Forwarder } from '../../../../../../actors/mcp/clients/routing/forwarder.ts';
import type { InFlightLimiter } from '../../../../../../actors/mcp/clients/routing/in-flight-limiter.ts';
import { readClientMessage } from '../../../../../../actors/mcp/jsonrpc/read-message.ts';

const limiter = { take: () => true } as unknown as InFlightLimiter;
const outlet = { send: () => {}, finish: () => {}, drop: () => {} };
const eras = ['legacy', 'modern'] as const;

test.each(eras.flatMap((client) => eras.map((server) => [client, server] as const)))(
  'a %s client’s call at a server of the %s era is bridged only where these differ',
  (client, spoken) => {
    const ways: string[] = [];
    const bridge = { cross: () => ways.push('bridge') } as unknown as EraBridge;
    const server = {
      id: 'files',
      entry: { forward_roots: true },
      eras: { for: () => spoken },
      cache: { taskTools: new Set() },
      handle: { accept: ({ era }: { era: string }) => void ways.push(`handle, ${era}`) },
    };
    const route = {
      server,
      session: undefined,
      caller: client === 'modern' ? { capabilities: {} } : undefined,
      envelope: readClientMessage(Buffer.from('{"jsonrpc":"2.0","id":1,"method":"tools/list"}')),
      exchange: new ClientExchange('1', outlet, { redact: (text) => text, onEnd: () => {} }),
    } as unknown as RoutedRequest;
    new Forwarder(limiter, bridge).forward(route);
    expect(ways).toEqual([client === spoken ? `handle, ${client}` : 'bridge']);
  },
);
