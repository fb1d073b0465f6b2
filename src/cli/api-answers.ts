// What the HTTP API answers, as docs/http-api.md describes it; the types are those of the code that writes it.

import type { CatalogDifference } from '../../actors/gateway/server-fleet.ts';
import type { serverDetails, serverRecord, serverStats } from '../http/records.ts';

export type ServerRecord = ReturnType<typeof serverRecord>;

export interface ServerList {
  readonly servers: readonly ServerRecord[];
}

export type ServerDetails = ReturnType<typeof serverDetails>;

export type ServerStats = ReturnType<typeof serverStats>;

export interface Stats {
  readonly uptime_seconds: number;
  readonly requests: { readonly total: number; readonly failed: number; readonly in_flight: number };
  readonly sessions: number;
  readonly listens: number;
  readonly servers: Readonly<Record<string, ServerStats>>;
}

export type Reloaded = CatalogDifference;

export const pathOf = (id: string): string => `servers/${encodeURIComponent(id)}`;
