// The merged list of the skills (an extension of MCP) of all servers: its deadline.

import { expect, test } from 'vitest';
import type { ClientRequest } from '../../../../../../actors/mcp/clients/routed-request.ts';
import { listSkills } from '../../../../../../actors/mcp/clients/routing/merged-skills.ts';
import type { ManagedServer } from '../../../../../../actors/mcp/servers/managed-server.ts';

test('the merged skill list names a server as incomplete if its protocol era is still unknown at the deadline', async () => {
  const never = () => new Promise<void>(() => {});
  const servers = Array.from(
    { length: 9 },
    (_, n) => ({ id: `server-${n}`, eras: { ensureKnown: never } }) as unknown as ManagedServer,
  );
  const request = { exchange: { isDone: false } } as unknown as ClientRequest;
  const { skills, incomplete } = await listSkills(request, servers, 10, (_, uri) => uri);
  expect(skills).toEqual([]);
  expect(incomplete).toEqual(servers.map(({ id }) => id));
});
