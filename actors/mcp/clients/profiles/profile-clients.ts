// The clients of profiles: who they are, how many, and what becomes of them when a reload has changed their profile.

import { everyListKind } from '../../servers/lists/lists.ts';
import type { ManagedServer } from '../../servers/managed-server.ts';
import type { ListenStream } from '../sessions/listen-stream.ts';
import type { ClientSession } from '../sessions/session.ts';
import type { Sessions } from '../sessions/sessions.ts';
import type { Profile } from './profile.ts';
import type { ProfileDifference } from './profiles.ts';

/** Sessions, and clients that listen. */
export interface ClientCounts {
  sessions: number;
  listens: number;
}

/** How many there are in each profile that has any. */
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

/** Ends the clients of profiles that are gone, and tells those of changed ones. */
export function applyToClients(
  { changed, removed }: ProfileDifference,
  { sessions, servers: all }: ClientHost,
): void {
  for (const profile of removed) {
    const why = `profile ${profile.name} is not in the gateway file any more`;
    for (const client of clientsIn(sessions, profile))
      if (client.isListener) client.end();
      else sessions.end(client, why);
  }
  for (const { profile, left } of changed) {
    sessions.announceIn(profile, everyListKind);
    const servers = left.flatMap((id) => all.get(id) ?? []);
    if (servers.length === 0) continue;
    // Calls that were begun may end; they keep the session's connection until it is idle.
    for (const client of clientsIn(sessions, profile))
      for (const server of servers) if (client.isListener || !client.isAt(server.id)) server.release(client);
  }
}

function clientsIn(sessions: Sessions, profile: Profile): readonly (ClientSession | ListenStream)[] {
  return [...sessions.inOrder()].filter((client) => client.profile === profile);
}
