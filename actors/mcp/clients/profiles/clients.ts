// The clients of profiles (parts of the servers, at /mcp/@NAME). Counts them for GET /stats. After a reload
// of the gateway file, notifies the clients of changed profiles and closes the clients of removed profiles.

import { everyListKind } from '../../servers/lists/lists.ts';
import type { ManagedServer } from '../../servers/managed-server.ts';
import type { ListenStream } from '../sessions/listen-stream.ts';
import type { ClientSession } from '../sessions/session.ts';
import type { Sessions } from '../sessions/sessions.ts';
import type { Profile } from './profile.ts';
import type { ProfileDifference } from './profiles.ts';

/** Number of sessions and listening clients. */
export interface ClientCounts {
  sessions: number;
  listens: number;
}

/** Returns client counts by profile. */
export function countsByProfile(sessions: Pick<Sessions, 'inOrder'>): ReadonlyMap<Profile, ClientCounts> {
  const counts = new Map<Profile, ClientCounts>();
  for (const { profile, isListener } of sessions.inOrder()) {
    if (profile === undefined) continue;
    const count = counts.get(profile) ?? { sessions: 0, listens: 0 };
    count[isListener ? 'listens' : 'sessions'] += 1;
    counts.set(profile, count);
  }
  return counts;
}

interface ClientHost {
  readonly sessions: Sessions;
  readonly servers: { get(id: string): ManagedServer | undefined };
}

/** Closes clients of removed profiles and notifies clients of changed profiles. */
export function applyToClients(
  { changedProfiles, removedProfiles }: ProfileDifference,
  { sessions, servers }: ClientHost,
): void {
  for (const profile of removedProfiles) {
    const why = `profile ${profile.name} was removed from the gateway file`;
    for (const client of clientsIn(sessions, profile))
      if (client.isListener) client.end();
      else sessions.end(client, why);
  }
  for (const { profile, removedServers } of changedProfiles) {
    sessions.announceIn(profile, everyListKind);
    const leftServers = removedServers.flatMap((id) => servers.get(id) ?? []);
    if (leftServers.length === 0) continue;
    // `release` closes a client's connection and removes its subscriptions at the server. A session with
    // running calls keeps its connection until it is idle.
    for (const client of clientsIn(sessions, profile))
      for (const server of leftServers)
        if (client.isListener || !client.isAt(server.id)) server.release(client);
  }
}

function clientsIn(sessions: Sessions, profile: Profile): readonly (ClientSession | ListenStream)[] {
  return [...sessions.inOrder()].filter((client) => client.profile === profile);
}
