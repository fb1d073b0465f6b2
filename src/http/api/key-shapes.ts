// Types of the JSON of `/admin/keys` and `/whoami`, for API and CLI (see server-shapes.ts).

import type { Role } from '../../../actors/identity/roles.ts';

export interface KeyRecord {
  readonly id: string;
  readonly name: string;
  /** Always null: keys belong to the whole gateway. */
  readonly tenant: null;
  readonly role: Role;
  readonly created_at: string;
  readonly created_by: string;
  readonly expires_at: string | null;
  /** Accuracy: one minute. */
  readonly last_used_at: string | null;
  readonly revoked_at: string | null;
}

/** New key. No other response contains its text. */
export interface NewKeyRecord extends KeyRecord {
  readonly key: string;
}

export interface KeyList {
  readonly keys: readonly KeyRecord[];
}

export interface Whoami {
  readonly principal: string;
  readonly tenant: null;
  /** Null for anonymous senders. */
  readonly role: Role | null;
}
