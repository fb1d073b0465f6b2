// What a page needs to know to say how clients connect: whether a key is asked for, which it never tells, and how the program beside
// this gateway is started.

import { join } from 'node:path';
import type { Gateway } from '../../actors/gateway/gateway.ts';
import type { ConnectFacts } from './wire/tool-wire.ts';

export function connectFacts({ config, servers, profiles }: Gateway): ConnectFacts {
  return {
    needs_key: config.api_key !== '',
    // Everything is built into one folder.
    program: { command: process.execPath, args: [join(import.meta.dirname, 'main.js'), 'stdio'] },
    profiles: [...profiles.all()].map(({ name }) => name),
    servers: servers.all().flatMap(({ id, entry }) => (entry.enabled ? [id] : [])),
  };
}
