// The business messenger's cloud API: one address for a number of the business, to which messages, marks and reactions go.
//
// The token is in the Authorization header and nowhere else. Nothing is sent twice from here: whether the first arrived
// nobody can ask, so that is for the outbox to decide.

import type { BusinessMessengerTrigger } from '../../../config/resources/triggers/trigger.ts';
import { HttpApi } from '../../../libs/rest/http-api.ts';
import { path } from '../../../libs/rest/path.ts';
import { sendingFault } from '../../events/outbox/platform-errors.ts';
import { memberOf, textMember } from '../payloads/payload-member.ts';
import { deliveryErrorOf } from './errors.ts';

const TIMEOUT_MS = 20_000;
/** Of an answer, which is small. */
const MAX_ANSWER_BYTES = 262_144;

export class BusinessMessengerApi {
  readonly #api: HttpApi;
  readonly #version: string;

  constructor({ config }: BusinessMessengerTrigger) {
    this.#version = config.api_version;
    this.#api = new HttpApi({
      baseUrl: config.graph_url,
      headers: { authorization: `Bearer ${config.bot_token}` },
      timeoutMs: TIMEOUT_MS,
      maxAnswerBytes: MAX_ANSWER_BYTES,
      secrets: [config.bot_token],
    });
  }

  /** Sends what the API takes from a number; gives the id of the message. Rejects with a DeliveryError. */
  async post(phoneNumberId: string, json: object, signal: AbortSignal): Promise<string> {
    const request = { method: 'POST', path: path`/${this.#version}/${phoneNumberId}/messages`, json, signal };
    const answer = await this.#api.request(request).catch((error: unknown) => {
      throw sendingFault(error, 'a message');
    });
    const { json: said } = answer;
    const id = textMember(said, 'messages.0.id');
    // A page that somebody else answers with is no message sent; a mark has no id.
    if (answer.isOk && (id !== undefined || memberOf(said, 'success') === true)) return id ?? '';
    throw deliveryErrorOf(answer);
  }
}
