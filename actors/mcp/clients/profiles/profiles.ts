// The profiles of the gateway file by name; each is a part of the servers at /mcp/@NAME. A reload keeps the
// clients of remaining profiles, even if the profile changed; clients of removed profiles are closed.

import type { Catalog } from '../../../../config/catalog/catalog-schema.ts';
import type { ProfileEntries } from '../../../../config/gateway-file/profile-schema.ts';
import { UnknownProfileError } from '../../../base/errors/errors.ts';
import { profileFilter } from './filter.ts';
import { Profile, type ProfileOptions } from './profile.ts';

export type ProfilesOptions = Omit<ProfileOptions, 'name' | 'filter'>;

/** Profile changes in a reload. */
export interface ProfileDifference {
  /** Changed profiles, with the servers removed from each. */
  readonly changedProfiles: readonly {
    readonly profile: Profile;
    readonly removedServers: readonly string[];
  }[];
  readonly removedProfiles: readonly Profile[];
}

/** Maximum number of names in a message. */
const MAX_NAMED = 20;

export class Profiles {
  readonly #options: ProfilesOptions;
  readonly #byName = new Map<string, Profile>();
  /** Serialised profile definitions, to detect changes. */
  readonly #definitions = new Map<string, string>();
  #isClosed = false;

  constructor(options: ProfilesOptions) {
    this.#options = options;
  }

  /** Returns the profiles in the order of the gateway file. */
  all(): Iterable<Profile> {
    return this.#byName.values();
  }

  get size(): number {
    return this.#byName.size;
  }

  /** Returns a profile by name. Throws UnknownProfileError. */
  get(name: string): Profile {
    const profile = this.#byName.get(name);
    if (profile === undefined) throw new UnknownProfileError(this.#unknownName(name));
    return profile;
  }

  /** Applies the profiles of the gateway file. The catalog must already be applied. */
  apply(entries: ProfileEntries, catalog: Catalog): ProfileDifference {
    const changedProfiles: { profile: Profile; removedServers: readonly string[] }[] = [];
    const before = new Map(this.#byName);
    this.#byName.clear();
    for (const [name, entry] of Object.entries(entries)) {
      const filter = profileFilter(entry, catalog);
      const definition = JSON.stringify([entry.tools, [...filter.servers]]);
      const existing = before.get(name);
      before.delete(name);
      if (existing === undefined) {
        this.#byName.set(name, this.#make(name, filter));
      } else {
        this.#byName.set(name, existing);
        if (this.#definitions.get(name) !== definition) {
          const removedServers = existing.servers().flatMap(({ id }) => (filter.servers.has(id) ? [] : [id]));
          existing.redefine(filter);
          changedProfiles.push({ profile: existing, removedServers });
        }
      }
      this.#definitions.set(name, definition);
    }
    for (const name of before.keys()) this.#definitions.delete(name);
    // Only removed profiles remain in `before`.
    for (const profile of before.values()) profile.discovery.close();
    return { changedProfiles, removedProfiles: [...before.values()] };
  }

  /** Cancels waits for lists in all profiles. */
  close(): void {
    this.#isClosed = true;
    for (const profile of this.#byName.values()) profile.discovery.close();
  }

  #make(name: string, filter: ProfileOptions['filter']): Profile {
    const profile = new Profile({ ...this.#options, name, filter });
    // A reload may end after the gateway has begun to stop.
    if (this.#isClosed) profile.discovery.close();
    return profile;
  }

  #unknownName(name: string): string {
    const names = [...this.#byName.keys()];
    const text = `there is no profile ${JSON.stringify(name.slice(0, 64))}`;
    if (names.length === 0) return `${text}: the gateway file has no profiles`;
    const more = names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more` : '';
    return `${text}; there are ${names.slice(0, MAX_NAMED).join(', ')}${more}`;
  }
}
