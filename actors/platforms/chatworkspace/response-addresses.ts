// Stores response addresses from slash commands and button presses. They accept private answers even if the
// bot is not a channel member. Addresses are credentials: only a separate store space contains them, not
// events, outbox rows or logs.

import { HttpApi } from '../../../libs/rest/http-api.ts';
import type { Store } from '../../store/store.ts';
import { textMember } from '../payloads/payload-member.ts';
import { WorkspaceRefusal } from './errors.ts';

const SPACE = 'chatworkspace-responses';
/** The platform accepts answers for 30 minutes. */
const LASTS_MS = 30 * 60_000;
const MAX_ADDRESS = 2_048;

export class ResponseAddresses {
  readonly #store: Pick<Store, 'get' | 'put'>;

  constructor(store: Pick<Store, 'get' | 'put'>) {
    this.#store = store;
  }

  /** Stores the payload's address, if any. Rejects with store errors. */
  async save(account: string, content: string, payload: unknown): Promise<void> {
    const address = textMember(payload, 'response_url') ?? '';
    if (!/^https?:/.test(address) || !URL.canParse(address) || address.length > MAX_ADDRESS) return;
    await this.#store.put(SPACE, `${account}/${content}`, address, { ttlMs: LASTS_MS, ifAbsent: true });
  }

  /**
   * Sends a private message to the command's sender. Returns false for unknown and expired addresses. Rejects
   * with a WorkspaceRefusal; without a response, with a RequestFault.
   */
  async send(account: string, content: string, message: object, signal: AbortSignal): Promise<boolean> {
    const address = (await this.#store.get(SPACE, `${account}/${content}`))?.value;
    if (address === undefined) return false;
    const { origin, pathname, searchParams } = new URL(address);
    const http = new HttpApi({ baseUrl: origin, secrets: [pathname] });
    const json = { ...message, response_type: 'ephemeral', replace_original: false };
    const query = Object.fromEntries(searchParams);
    const response = await http.request({ method: 'POST', path: pathname, query, json, signal });
    if (!response.isOk) throw new WorkspaceRefusal(http.host, 'response_url', response);
    return true;
  }
}
