// Stores the service URL of each conversation. Messages without a recent activity need it, also in another
// process.
//
// For a thread its channel is also stored, because agents get the channel as `chat.id`. Conversations that no
// trigger's channel list allows are not stored. Products without verified users have a separate list: anyone
// can open many such conversations, and they must not evict verified ones.

import type { TeamChatTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { OutboundTarget } from '../../events/outbox/message.ts';
import type { Store } from '../../store/store.ts';
import { ConversationReferences } from '../connections/references.ts';
import { type Activity, channelOf, WITH_DIRECTORY } from './activity.ts';
import { PLATFORM } from './event.ts';

/** Lifetime after the last activity: half a year. */
const KEEP_MS = 183 * 24 * 3_600_000;

export class StoredConversations {
  readonly #store: Pick<Store, 'put' | 'get' | 'delete' | 'keys'>;
  readonly #byAccount = new Map<string, ConversationReferences>();

  constructor(store: Pick<Store, 'put' | 'get' | 'delete' | 'keys'>) {
    this.#store = store;
  }

  /**
   * Stores the conversation of an activity. `triggers` are the triggers that may accept the activity. Rejects
   * if the store does.
   */
  async save(
    app: string,
    triggers: readonly TeamChatTrigger[],
    { conversation, serviceUrl, channelId }: Activity,
  ): Promise<void> {
    const channel = channelOf(conversation);
    const isAllowed = (...names: readonly string[]) =>
      triggers.some(
        ({ config: { allowed_channels: allowedChannels } }) =>
          allowedChannels.length === 0 || names.some((name) => allowedChannels.includes(name)),
      );
    const conversations = new Set<string>();
    if (isAllowed(conversation, channel)) conversations.add(conversation);
    if (isAllowed(channel)) conversations.add(channel);
    const references = this.#of(channelId === WITH_DIRECTORY ? app : othersOf(app));
    await Promise.all(
      Array.from(conversations, (name) => references.save(name, { target: { place: name }, serviceUrl })),
    );
  }

  /** Returns the conversation's target; undefined if unknown. */
  async find(app: string, conversation: string): Promise<OutboundTarget | undefined> {
    const reference =
      (await this.#of(app).find(conversation)) ?? (await this.#of(othersOf(app)).find(conversation));
    return reference && { ...reference.target, serviceUrl: reference.serviceUrl };
  }

  #of(account: string): ConversationReferences {
    const existing = this.#byAccount.get(account);
    if (existing !== undefined) return existing;
    const references = new ConversationReferences({
      store: this.#store,
      platform: PLATFORM,
      account,
      keepMs: KEEP_MS,
    });
    this.#byAccount.set(account, references);
    return references;
  }
}

/** Account name of the list for products without verified users. */
const othersOf = (app: string) => `${app}/others`;
