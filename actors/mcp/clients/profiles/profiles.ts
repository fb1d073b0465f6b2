// The profiles of the gateway file, by name, and what a reload makes of them. One that stays keeps its clients, whatever it
// contains by then; those of one that is gone are ended.

import type { Catalog } from '../../../../config/catalog/catalog-schema.ts';
import type { ProfileEntries } from '../../../../config/gateway-file/profile-schema.ts';
import { UnknownProfileError } from '../../../base/errors/errors.ts';
import { Profile, type ProfileOptions } from './profile.ts';
import { profileFilter } from './profile-filter.ts';

export type ProfilesOptions = Omit<ProfileOptions, 'name' | 'filter'>;

/** What a reload has done with the profiles. */
export interface ProfileDifference {
  /** Those that are other than before, with the servers that have left them. */
  readonly changed: readonly { readonly profile: Profile; readonly left: readonly string[] }[];
  readonly removed: readonly Profile[];
}

/** Names in one message. */
const MAX_NAMED = 20;

export class Profiles {
  readonly #options: ProfilesOptions;
  readonly #byName = new Map<string, Profile>();
  /** What each was last made of. */
  readonly #made = new Map<string, string>();
  #isClosed = false;

  constructor(options: ProfilesOptions) {
    this.#options = options;
  }

  /** In the order of the gateway file. */
  all(): Iterable<Profile> {
    return this.#byName.values();
  }

  get size(): number {
    return this.#byName.size;
  }

  /** The profile of that name. Throws UnknownProfileError. */
  get(name: string): Profile {
    const profile = this.#byName.get(name);
    if (profile === undefined) throw new UnknownProfileError(this.#refusal(name));
    return profile;
  }

  /** Makes the profiles what the gateway file says, with the servers of this catalog, which is in force already. */
  apply(entries: ProfileEntries, catalog: Catalog): ProfileDifference {
    const changed: { profile: Profile; left: readonly string[] }[] = [];
    const before = new Map(this.#byName);
    this.#byName.clear();
    for (const [name, entry] of Object.entries(entries)) {
      const filter = profileFilter(entry, catalog);
      const made = JSON.stringify([entry.tools, [...filter.servers]]);
      const known = before.get(name);
      before.delete(name);
      if (known === undefined) {
        this.#byName.set(name, this.#make(name, filter));
      } else {
        this.#byName.set(name, known);
        if (this.#made.get(name) !== made) {
          const left = known.servers().flatMap(({ id }) => (filter.servers.has(id) ? [] : [id]));
          known.redefine(filter);
          changed.push({ profile: known, left });
        }
      }
      this.#made.set(name, made);
    }
    for (const name of before.keys()) this.#made.delete(name);
    for (const profile of before.values()) profile.discovery.close();
    return { changed, removed: [...before.values()] };
  }

  /** Nobody waits for lists any longer. */
  close(): void {
    this.#isClosed = true;
    for (const profile of this.#byName.values()) profile.discovery.close();
  }

  #make(name: string, filter: ProfileOptions['filter']): Profile {
    const profile = new Profile({ ...this.#options, name, filter });
    if (this.#isClosed) profile.discovery.close();
    return profile;
  }

  #refusal(name: string): string {
    const names = [...this.#byName.keys()];
    const what = `there is no profile ${JSON.stringify(name.slice(0, 64))}`;
    if (names.length === 0) return `${what}: the gateway file has no profiles`;
    const more = names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more` : '';
    return `${what}; there are ${names.slice(0, MAX_NAMED).join(', ')}${more}`;
  }
}
