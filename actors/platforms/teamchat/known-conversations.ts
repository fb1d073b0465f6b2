// Where conversations of our bots are reached when nobody has just written there: the service of each, kept in the store, since a
// message of tomorrow may come from another process.
//
// KC1  a thread makes its channel known as well, since that is what agents hear as `chat.id`.
// KC2  of what no trigger's list of channels lets pass nothing is kept.
// KC3  those of products that hand on what a browser says are kept apart: whoever opens a page begins a conversation there, and no
//      number of them makes one of the chat's own forgotten.

import type { TeamChatTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { OutboundTarget } from '../../events/outbox/outbound-message.ts';
import type { Store } from '../../store/store.ts';
import { ConversationReferences } from '../connections/references.ts';
import { type Activity, channelOf, WITH_DIRECTORY } from './activity.ts';
import { PLATFORM } from './event.ts';

/** Half a year without a word. */
const KEEP_MS = 183 * 24 * 3_600_000;

export class KnownConversations {
  readonly #store: Pick<Store, 'put' | 'get' | 'delete' | 'keys'>;
  readonly #ofApps = new Map<string, ConversationReferences>();

  constructor(store: Pick<Store, 'put' | 'get' | 'delete' | 'keys'>) {
    this.#store = store;
  }

  /** `triggers`: those that it may be for. Rejects as the store does. */
  async note(
    app: string,
    triggers: readonly TeamChatTrigger[],
    { conversation, serviceUrl, channelId }: Activity,
  ): Promise<void> {
    const channel = channelOf(conversation);
    const isListening = (...names: readonly string[]) =>
      triggers.some(
        ({ config: { allowed_channels: allowed } }) =>
          allowed.length === 0 || names.some((name) => allowed.includes(name)),
      );
    const places = new Set<string>();
    if (isListening(conversation, channel)) places.add(conversation);
    if (isListening(channel)) places.add(channel);
    const references = this.#of(channelId === WITH_DIRECTORY ? app : othersOf(app));
    await Promise.all(
      Array.from(places, (place) => references.note(place, { target: { place }, serviceUrl })),
    );
  }

  /** Undefined for one in which nobody has been heard of. */
  async find(app: string, conversation: string): Promise<OutboundTarget | undefined> {
    const found =
      (await this.#of(app).find(conversation)) ?? (await this.#of(othersOf(app)).find(conversation));
    return found && { ...found.target, serviceUrl: found.serviceUrl };
  }

  #of(account: string): ConversationReferences {
    const before = this.#ofApps.get(account);
    if (before !== undefined) return before;
    const references = new ConversationReferences({
      store: this.#store,
      platform: PLATFORM,
      account,
      keepMs: KEEP_MS,
    });
    this.#ofApps.set(account, references);
    return references;
  }
}

const othersOf = (app: string) => `${app}/others`;
