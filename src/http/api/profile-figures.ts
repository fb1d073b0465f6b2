// The figures of profiles in GET /stats; nothing where there are none.

import type { ClientSide } from '../../../actors/mcp/client-side.ts';
import { countsByProfile } from '../../../actors/mcp/clients/profiles/profile-clients.ts';

export interface ProfileStats {
  /** Ids of those that belong to it. */
  readonly servers: readonly string[];
  readonly requests: { readonly total: number; readonly failed: number; readonly in_flight: number };
  readonly sessions: number;
  readonly listens: number;
}

export function profileFigures({ profiles, sessions }: Pick<ClientSide, 'profiles' | 'sessions'>): {
  readonly profiles?: Readonly<Record<string, ProfileStats>>;
} {
  if (profiles.size === 0) return {};
  const clients = countsByProfile(sessions);
  const figures = [...profiles.all()].map((profile): [string, ProfileStats] => [
    profile.name,
    {
      servers: profile.servers().map(({ id }) => id),
      requests: { ...profile.counts },
      ...(clients.get(profile) ?? { sessions: 0, listens: 0 }),
    },
  ]);
  return { profiles: Object.fromEntries(figures) };
}
