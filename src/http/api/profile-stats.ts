// Statistics of the profiles, for `GET /stats`.

import type { ClientSide } from '../../../actors/mcp/client-side.ts';
import { countsByProfile } from '../../../actors/mcp/clients/profiles/clients.ts';
import { type LazyBody, lazyRecord } from './sliced-json.ts';
import type { ProfileStats, Stats } from './stats-shapes.ts';

export function profileStats({
  profiles,
  sessions,
}: Pick<ClientSide, 'profiles' | 'sessions'>): LazyBody<Pick<Stats, 'profiles'>> {
  if (profiles.size === 0) return {};
  const clients = countsByProfile(sessions);
  const figures = lazyRecord(profiles.all(), (profile): [string, ProfileStats] => [
    profile.name,
    {
      servers: profile.servers().map(({ id }) => id),
      requests: { ...profile.counts },
      ...(clients.get(profile) ?? { sessions: 0, listens: 0 }),
    },
  ]);
  return { profiles: figures };
}
