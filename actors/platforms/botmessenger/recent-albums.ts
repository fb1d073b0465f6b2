// Remembers recent albums. The platform sends each picture as a separate message, usually with one caption
// per album, and the gateway should ask for text only once.

import { deleteOldest } from '../../base/bounds/delete-oldest.ts';
import type { BotMessage } from './update.ts';

const MAX_ALBUMS = 1_000;

export class RecentAlbums {
  /** First message id by chat and album. */
  readonly #firstIds = new Map<string, string | undefined>();

  /** Returns true if an earlier message belongs to the same album. */
  isRest({ chat, album, messageId }: Pick<BotMessage, 'chat' | 'album' | 'messageId'>): boolean {
    if (album === undefined) return false;
    const key = `${chat}/${album}`;
    if (this.#firstIds.has(key)) return this.#firstIds.get(key) !== messageId;
    this.#firstIds.set(key, messageId);
    deleteOldest(this.#firstIds, MAX_ALBUMS);
    return false;
  }
}
